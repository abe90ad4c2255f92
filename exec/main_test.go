package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// The tests that run commands need what a guest is: pid 1 of namespaces of its
// own, an ordinary uid, one capability. TestMain makes that: it executes the
// test binary once more for each form, as pid 1 of a minimal sandbox, with the
// same -test flags. What needs no sandbox runs in the first process.
const (
	envForm = "SANDBOXFS_EXEC_TEST_FORM" // set inside a sandbox
	envSlot = "SANDBOXFS_EXEC_TEST_SLOT" // program for slots, when not the test binary
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "slot" {
		SlotMain()
	}
	if len(os.Args) > 3 && os.Args[1] == "attack" {
		attackMain(os.Args[2], os.Args[3])
	}
	if os.Getenv(envForm) != "" {
		if err := enterTestSandbox(); err != nil {
			fmt.Fprintln(os.Stderr, "enter the test's sandbox:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	code := m.Run()
	if code == 0 && !fuzzing() {
		for _, form := range []string{"namespace", "subreaper"} {
			if c := runInSandbox(form); c != 0 {
				fmt.Fprintf(os.Stderr, "FAIL: tests in a sandbox of form %s\n", form)
				code = c
			}
		}
	}
	os.Exit(code)
}

func fuzzing() bool {
	for _, a := range os.Args {
		if strings.HasPrefix(a, "-test.fuzz") || strings.HasPrefix(a, "-test.list") {
			return true
		}
	}
	return false
}

// inSandbox skips a test outside of a sandbox, where it runs again.
func inSandbox(t testing.TB) string {
	t.Helper()
	form := os.Getenv(envForm)
	if form == "" {
		testenv.RunsElsewhere(t, "the test's own namespaces")
	}
	return form
}

// runInSandbox executes the tests as pid 1 of new namespaces.
func runInSandbox(form string) int {
	id := os.Getuid()
	gid := os.Getgid()
	if id == 0 {
		// An id that the host does not use: limits of processes do not bind root.
		id, gid = 200077, 200077
	}
	args := []string{os.Args[0]}
	for _, a := range os.Args[1:] {
		switch name, _, _ := strings.Cut(a, "="); name {
		case "-test.testlogfile", "-test.coverprofile", "-test.gocoverdir", "-test.outputdir", "-test.cpuprofile", "-test.memprofile":
		default:
			args = append(args, a)
		}
	}
	cmd := &osexec.Cmd{
		Path: "/proc/self/exe", Args: args, Stdin: nil, Stdout: os.Stdout, Stderr: os.Stderr,
		Env: append(os.Environ(), envForm+"="+form, "TMPDIR=/tmp"),
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: id, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: gid, Size: 1}},
			Credential:  &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
			Pdeathsig:   unix.SIGKILL,
		},
	}
	if raceEnabled {
		slot, clean, err := buildSlot()
		if err != nil {
			fmt.Fprintln(os.Stderr, "SKIP: tests in a sandbox, which need a slot without the race detector:", err)
			return 0
		}
		defer clean()
		cmd.Env = append(cmd.Env, envSlot+"="+slot)
	}
	err := cmd.Run()
	if err == nil {
		return 0
	}
	if cmd.Process == nil {
		fmt.Fprintln(os.Stderr, "SKIP: tests in a sandbox: namespaces cannot be made here:", err)
		return 0
	}
	return 1
}

// buildSlot compiles the test binary without cgo, to be the slots of a test
// binary with the race detector.
func buildSlot() (string, func(), error) {
	dir, err := os.MkdirTemp("/var/tmp", "slot") // /tmp is the sandbox's own
	if err != nil {
		return "", nil, err
	}
	os.Chmod(dir, 0o755)
	out := filepath.Join(dir, "slot")
	c := osexec.Command("go", "test", "-c", "-o", out, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := c.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("%w: %s", err, b)
	}
	return out, func() { os.RemoveAll(dir) }, nil
}

// testProcesses is how many processes a sandbox's commands may have.
const testProcesses = 400

// limitProcesses sets the limits that a guest is born with: with namespaces, as
// a sandbox has them. An executor takes the room between them for itself.
func limitProcesses(form string) error {
	limit := unix.Rlimit{Cur: testProcesses, Max: testProcesses}
	if form == "namespace" {
		limit.Max += 512
	}
	return unix.Setrlimit(unix.RLIMIT_NPROC, &limit)
}

// enterTestSandbox does, in little, what the guest of a sandbox does at its
// start: private mounts, its own /proc, devpts and /tmp, one capability, no new
// privileges, not dumpable.
func enterTestSandbox() error {
	type mount struct {
		source, target, fstype string
		flags                  uintptr
		data                   string
	}
	for _, m := range []mount{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600"},
		{"/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""},
		{"tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "size=64m"},
	} {
		if err := unix.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	if err := limitProcesses(os.Getenv(envForm)); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	CatchSignals()
	return nil
}

// executor returns a new executor of the sandbox's form, closed with the test.
func executor(t testing.TB, change ...func(*Config)) *Executor {
	t.Helper()
	cfg := Config{SlotArgv: []string{os.Args[0], "slot"}, SlotPath: os.Getenv(envSlot), Form: FormNamespaceOnly}
	if inSandbox(t) == "subreaper" {
		cfg.Form = FormSubreaperOnly
	}
	for _, c := range change {
		c(&cfg)
	}
	if err := limitProcesses(inSandbox(t)); err != nil {
		t.Fatal(err)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
