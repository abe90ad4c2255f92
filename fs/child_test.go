package fs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/posixsuite"
)

// A process must not touch a path below a mount that it serves itself, so the
// tree is served by this test binary run again.

// theKey is the thread of every test.
var theKey = mapping.Key{Thread: "t1"}

const childEnv = "SANDBOXFS_TEST_SERVE"

// childSpec tells the serving process what to serve. The device is its
// descriptor 3, the regions' directories follow in order.
type childSpec struct {
	Regions        []mapping.Region
	View           mapping.View
	Ownership      fs.Ownership
	UID, GID       uint32
	MaxDescriptors int
	Passthrough    fs.Passthrough
	Opens          fs.Opens
	FileLimit      uint64 // RLIMIT_NOFILE, 0 leaves it
	// Quota bounds what thread t1 of Home holds, counted in RunDir.
	Quota        provider.QuotaConfig
	Home, RunDir string
	// Stuck makes mkdir(2) wait until the process is told "go on".
	Stuck bool
	// Panics makes some calls panic (panicQuota).
	Panics bool
	// What the tree may watch, see Tree.SetWatchLimits.
	Watches, Names int
	LeaseTime      time.Duration
	NoInstance     bool
}

// failures counts what the server logs as an error.
type failures struct{ atomic.Int64 }

func (*failures) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

func (f *failures) Fire(*logrus.Entry) error { f.Add(1); return nil }

func TestMain(m *testing.M) {
	if posixsuite.Main() {
		return
	}
	if spec := os.Getenv(childEnv); spec != "" {
		if err := serveChild(spec); err != nil {
			fmt.Fprintln(os.Stderr, "serving process:", err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(storeEnv); dir != "" {
		if err := serveStore(dir); err != nil {
			fmt.Fprintln(os.Stderr, "store:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveChild serves until the mount ends. It answers each line on its
// standard input: "stats" by the numbers, "close" by closing the server,
// "resources" by its descriptors and goroutines, "go on" by ending the wait of
// childSpec.Stuck, "errors" by how many it has logged, "drop f" by telling the kernel to drop the workspace's f,
// "settle" when what happened on the host until then has been told.
func serveChild(text string) error {
	var spec childSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	if spec.FileLimit > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: spec.FileLimit, Max: spec.FileLimit}); err != nil {
			return err
		}
	}
	fs.ClearUmask()
	runtime.GOMAXPROCS(fs.Processors)
	given := openDescriptors()
	table, err := mapping.NewTable(spec.Regions...)
	if err != nil {
		return err
	}
	roots := map[string]*os.File{}
	for i, r := range spec.Regions {
		roots[r.Virtual] = os.NewFile(uintptr(4+i), "root")
	}
	log := logrus.New()
	log.SetOutput(os.Stderr)
	var logged failures
	log.AddHook(&logged)
	if spec.Panics {
		log.SetOutput(io.Discard) // they are meant
	}
	options := fs.Options{
		Table: table, Roots: roots, View: spec.View, Ownership: spec.Ownership, UID: spec.UID, GID: spec.GID,
		MaxDescriptors: spec.MaxDescriptors, Passthrough: spec.Passthrough, Opens: spec.Opens, Log: log,
	}
	if !spec.Quota.IsZero() {
		run, err := rundir.Open(spec.RunDir)
		if err != nil {
			return err
		}
		ledger, err := quota.ForThread(context.Background(), run, regions.Source{Key: theKey, Home: spec.Home}, spec.Quota)
		if err != nil {
			return err
		}
		defer func() {
			ledger.Close()
			run.Close()
		}()
		options.Quota, options.Charged = ledger, quota.Regions(table)
	}
	gate := make(chan struct{})
	if spec.Stuck {
		options.Quota, options.Charged = stuckQuota{gate}, []string{mapping.Workspace}
	}
	if spec.Panics {
		options.Quota, options.Charged = panicQuota{stuckQuota{gate}}, []string{mapping.Workspace}
		close(gate)
	}
	tree, err := fs.New(options)
	if err != nil {
		return err
	}
	tree.SetWatchLimits(spec.Watches, spec.Names, spec.LeaseTime, spec.NoInstance)
	for _, f := range roots {
		f.Close()
	}
	server, err := tree.Serve(os.NewFile(3, "device"))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	input := make(chan struct{})
	go func() {
		defer close(input)
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			switch lines.Text() {
			case "stats":
				out, _ := json.Marshal(server.Stats())
				fmt.Println(string(out))
			case "resources":
				left := slices.DeleteFunc(openDescriptors(), func(d string) bool { return slices.Contains(given, d) })
				fmt.Println(runtime.NumGoroutine(), left)
			case "drop f":
				fmt.Println(server.DropName(mapping.Workspace, "f"))
			case "errors":
				fmt.Println(logged.Load())
			case "settle":
				for settled := server.Settled(); !settled(); {
					time.Sleep(time.Millisecond)
				}
				fmt.Println("settled")
			case "go on":
				close(gate)
				fmt.Println("gone")
			case "close":
				fmt.Println("closed", server.Close())
			}
		}
	}()
	<-input
	// The mount is gone from our namespace. If another process has copied the
	// namespace meanwhile, it still has the mount, and only Close ends it.
	ended := make(chan struct{})
	go func() { defer close(ended); server.Wait() }()
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		fmt.Fprintln(os.Stderr, "the mount lives on in another namespace; closing")
	}
	return server.Close()
}

// openDescriptors names what the process has open, poller and standard
// streams left out.
func openDescriptors() []string {
	var names []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || len(e.Name()) == 1 && e.Name() < "3" || strings.HasPrefix(to, "anon_inode:") && to != "anon_inode:inotify" {
			continue
		}
		names = append(names, e.Name()+"="+to)
	}
	return names
}

// mounted is a tree mounted at Dir and served by another process.
type mounted struct {
	Dir string
	cmd *osexec.Cmd
	in  *os.File
	out *bufio.Reader
	// killed is set where the test kills the server itself.
	killed bool
}

// lifetime bounds every serving process, so that a stuck kernel call cannot
// wedge the run: when it dies, callers get ENOTCONN.
const lifetime = 4 * time.Minute

type account struct{ uid, gid uint32 }

// mount mounts a tree for the time of a test, served as another account when
// one is given.
func mount(t *testing.T, spec childSpec, o fs.MountOptions, as *account) *mounted {
	t.Helper()
	needFUSE(t)
	device, mnt, err := fs.MountDetached(o)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "mnt")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	files := []*os.File{device}
	for _, r := range spec.Regions {
		f, err := os.OpenFile(r.Host, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.ExtraFiles, cmd.Stdin, cmd.Stderr = files, inR, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, cmd)
	inR.Close()
	for _, f := range files {
		f.Close()
	}
	timer := time.AfterFunc(time.Duration(testenv.Soak(1, 4))*lifetime, func() { cmd.Process.Kill() })
	m := &mounted{Dir: target, cmd: cmd, in: inW, out: bufio.NewReader(stdout)}
	t.Cleanup(func() {
		fs.Unmount(target)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		inW.Close()
		select {
		case err := <-ended:
			if err != nil && !m.killed {
				t.Errorf("serving process: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the serving process did not end after unmounting and closing")
			cmd.Process.Signal(syscall.SIGQUIT) // says where it is
			<-ended
		}
		timer.Stop()
	})
	if line := m.line(t); line != "ready" {
		t.Fatalf("the serving process said %q", line)
	}
	if err := fs.Attach(mnt, target); err != nil {
		t.Fatal(err)
	}
	mnt.Close()
	return m
}

// startOn starts a process on a thread that lives until the test is over,
// since its end would be the process's (Pdeathsig), and tests end threads.
func startOn(t *testing.T, cmd *osexec.Cmd) {
	t.Helper()
	started, over := make(chan error), make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- cmd.Start()
		<-over
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

func (m *mounted) line(t *testing.T) string {
	t.Helper()
	line, err := m.out.ReadString('\n')
	if err != nil {
		t.Fatalf("reading from the serving process: %v", err)
	}
	return strings.TrimSpace(line)
}

func (m *mounted) ask(t *testing.T, what string) string {
	t.Helper()
	fmt.Fprintln(m.in, what)
	return m.line(t)
}

func (m *mounted) stats(t *testing.T) fs.Stats {
	t.Helper()
	var s fs.Stats
	if err := json.Unmarshal([]byte(m.ask(t, "stats")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func needFUSE(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Skip(t, "mounting in the host's namespace needs root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		testenv.Skip(t, fmt.Sprintf("needs /dev/fuse: %v", err))
	}
}

// world is a thread's directories on the host.
type world struct {
	root    string
	regions []mapping.Region
}

func newWorld(t *testing.T) world {
	t.Helper()
	return worldAt(t, t.TempDir())
}

// worldAt makes them below a directory.
func worldAt(t *testing.T, root string) world {
	t.Helper()
	table, err := mapping.Layout{Home: root}.Table(theKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Regions() {
		if err := os.MkdirAll(r.Host, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return world{root, table.Regions()}
}

func (w world) host(t *testing.T, virtual string) string {
	t.Helper()
	for _, r := range w.regions {
		if r.Virtual == virtual {
			return r.Host
		}
	}
	t.Fatalf("no region %s", virtual)
	return ""
}
