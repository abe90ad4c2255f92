package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The test binary plays every part of a sandbox: the keeper (the test
// itself), the guest (pid 1) and the slot that runs one command.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[0] == "sandboxfsd" && os.Args[1] == "guest":
		guestMain(nil)
	case len(os.Args) == 2 && os.Args[0] == "sandboxfsd" && os.Args[1] == "guest-early":
		guestMain(startEcho)
	case len(os.Args) == 2 && os.Args[0] == "sandboxfsd" && os.Args[1] == "guest-too-early":
		guestMain(func() (int, *os.File, error) { return 0, nil, errors.New("not now") })
	case len(os.Args) > 2 && os.Args[0] == "sandboxfsd" && os.Args[1] == "slot":
		slotMain(os.Args[2:])
	case len(os.Args) > 1 && os.Args[0] == "jail-test":
		if err := parts[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Println(os.Args[1]+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := plant(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// planted marks a test process that has what must not get into a sandbox: a
// session keyring with a name and, when root, supplementary groups.
const planted = "JAIL_TEST_PLANTED"

// plant gives this process what must not get into a sandbox, and executes it
// again: a keyring belongs to a thread.
func plant() error {
	if os.Getenv(planted) != "" {
		return nil
	}
	runtime.LockOSThread()
	if _, err := unix.KeyctlJoinSessionKeyring("jail-canary"); err != nil {
		fmt.Println("no session keyring to look for inside:", err)
	}
	if os.Geteuid() == 0 {
		if err := syscall.Setgroups([]int{0, 4, 27}); err != nil {
			return err
		}
	}
	os.Setenv(planted, "yes")
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// parts are what this binary does when a test starts it for a part that needs
// a process of its own.
var parts map[string]func(args []string) error

func init() { // not an initialiser: the parts start jails, which start parts
	parts = map[string]func(args []string) error{
		"as-user": asUser,
		"burden":  burden,
		"keeper":  keeperPart,
		"start":   startPart,
		"without": runWithout,
	}
}

// guestMain is a guest that runs whatever command comes down its socket.
func guestMain(early func() (int, *os.File, error)) {
	in, err := EnterWith(early)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in.Isolation["extra"] = string(in.Extra)
	if early != nil {
		in.Isolation["early"] = echoed(in.Early)
	}
	if err := in.Ready(); err != nil {
		os.Exit(1)
	}
	go func() {
		<-in.Done()
		if string(in.Extra) != "deaf" {
			os.Exit(0)
		}
	}()
	for {
		c, err := in.Listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		go guestRun(c, in.Tier)
	}
}

type reply struct {
	Out  string
	Code int
	Err  string
}

func guestRun(c net.Conn, tier Tier) {
	defer c.Close()
	var argv []string
	if json.NewDecoder(c).Decode(&argv) != nil {
		return
	}
	cmd := osexec.Command("/proc/self/exe", argv...)
	cmd.Args = append([]string{"sandboxfsd", "slot"}, argv...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}
	cmd.Dir = "/"
	if os.Geteuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN}}
	}
	out, err := cmd.CombinedOutput()
	r := reply{Out: string(out)}
	var ee *osexec.ExitError
	switch {
	case errors.As(err, &ee):
		r.Code = ee.ExitCode()
	case err != nil:
		r.Err = err.Error()
	}
	json.NewEncoder(c).Encode(r)
}

// slotMain checks that it got the capability that ending trees needs, gives
// it up, and becomes the command.
func slotMain(argv []string) {
	if os.Geteuid() != 0 {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&hdr, &data[0]); err != nil || data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
			fmt.Println("slot: capabilities", data, err)
			os.Exit(99)
		}
		unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
		data = [2]unix.CapUserData{}
		if err := unix.Capset(&hdr, &data[0]); err != nil {
			fmt.Println("slot: capset", err)
			os.Exit(99)
		}
	}
	// As a real slot does: room for the guest under the task limit, and the
	// command goes first when memory runs out.
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &l) == nil && l.Cur < 1<<20 {
		l.Cur, l.Max = l.Cur-16, l.Max-16
		unix.Setrlimit(unix.RLIMIT_NPROC, &l)
	}
	os.WriteFile("/proc/self/oom_score_adj", []byte("200"), 0)
	path, err := osexec.LookPath(argv[0])
	if err == nil {
		err = unix.Exec(path, argv, os.Environ())
	}
	fmt.Println("slot:", err)
	os.Exit(98)
}

// memTree is a small tree: /mnt/user-data/{workspace,uploads,outputs} and
// /mnt/skills/pub/SKILL.md.
type memTree struct{ gofs.Inode }

func (r *memTree) OnAdd(ctx context.Context) {
	dir := func(p *gofs.Inode, name string) *gofs.Inode {
		c := p.NewPersistentInode(ctx, &gofs.Inode{}, gofs.StableAttr{Mode: fuse.S_IFDIR})
		p.AddChild(name, c, true)
		return c
	}
	file := func(p *gofs.Inode, name, text string) {
		p.AddChild(name, p.NewPersistentInode(ctx, &gofs.MemRegularFile{Data: []byte(text), Attr: fuse.Attr{Mode: 0o644}}, gofs.StableAttr{}), true)
	}
	mnt := dir(&r.Inode, "mnt")
	data := dir(mnt, "user-data")
	file(dir(data, "workspace"), "w", "here")
	dir(data, "uploads")
	dir(data, "outputs")
	file(dir(dir(mnt, "skills"), "pub"), "SKILL.md", "SKILL-ORIGINAL")
	file(dir(&r.Inode, "hidden"), "secret", "CANARY-TREE")
}

// serveTree serves a memTree and ends the server with the test.
func serveTree(t testing.TB, uid, gid uint32) func(*os.File) error {
	return func(f *os.File) error {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		f.Close()
		if err != nil {
			return err
		}
		opts := &gofs.Options{UID: uid, GID: gid}
		srv, err := fuse.NewServer(gofs.NewNodeFS(&memTree{}, opts), fmt.Sprintf("/dev/fd/%d", fd), &fuse.MountOptions{})
		if err != nil {
			unix.Close(fd)
			return err
		}
		done := make(chan struct{})
		go func() {
			srv.Serve()
			close(done)
		}()
		t.Cleanup(func() {
			// The connection ends with its last mount; the sandbox is closed first.
			select {
			case <-done:
			case <-time.After(5 * time.Second):
				t.Error("the tree's server did not end with the sandbox")
			}
		})
		return nil
	}
}

// testUID is the host's uid of sandboxes started by root.
const testUID = 200001

// baseSpec is a spec for whoever runs the test, with a listener at path.
func baseSpec(t testing.TB) (Spec, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	t.Cleanup(func() { f.Close() })
	s := Spec{
		Tier: Isolated, Net: NetNone, HostUID: testUID, HostGID: testUID,
		TreeDirs: []string{"/mnt"}, Mounts: []string{"/mnt/user-data"}, ReadOnly: []string{"/mnt/skills", "/mnt/user-data/uploads"},
		Listener: f, Extra: []byte("hello"),
	}
	if os.Geteuid() != 0 {
		s.HostUID, s.HostGID = uint32(os.Geteuid()), uint32(os.Getegid())
	}
	s.Serve = serveLater(t, &s)
	return s, path
}

// serveLater serves with the ids that the spec has when it is started.
func serveLater(t testing.TB, s *Spec) func(*os.File) error {
	return func(f *os.File) error {
		uid, gid := TreeOwner(*s)
		return serveTree(t, uid, gid)(f)
	}
}

// box is a started jail with a way to run commands in it.
type box struct {
	*Jail
	path string
}

// startBox starts a jail that ends with the test.
func startBox(t testing.TB, change func(*Spec)) *box {
	t.Helper()
	s, path := baseSpec(t)
	if change != nil {
		change(&s)
	}
	s.Serve = serveLater(t, &s)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	j, err := Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return &box{j, path}
}

// run runs a program in the sandbox.
func (b *box) run(t testing.TB, argv ...string) (string, int) {
	t.Helper()
	c, err := net.Dial("unix", b.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if err := json.NewEncoder(c).Encode(argv); err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	if r.Err != "" {
		t.Fatalf("%q: %s", argv, r.Err)
	}
	return r.Out, r.Code
}

// sh runs a script and returns its output without trailing newlines.
func (b *box) sh(t testing.TB, script string) string {
	t.Helper()
	out, _ := b.run(t, "bash", "--norc", "--noprofile", "-c", script)
	return strings.TrimRight(out, "\n")
}

// needFuse skips where the tree cannot be mounted by whoever runs the test.
func needFuse(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		testenv.Skip(t, fmt.Sprintf("cannot open /dev/fuse: %v", err))
	}
	f.Close()
}
