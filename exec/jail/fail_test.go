package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// startBad starts a jail that must not start and returns the error.
func startBad(t *testing.T, change func(*Spec)) error {
	t.Helper()
	s, _ := baseSpec(t)
	s.Serve = serveLater(t, &s)
	if change != nil {
		change(&s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	j, err := Start(ctx, s)
	if err == nil {
		j.Close()
		t.Fatal("started")
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("want an *Error, got %T: %v", err, err)
	}
	return err
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("want %q in the error, got: %v", p, err)
		}
	}
}

func TestBadSpecs(t *testing.T) {
	called := false
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   string
	}{
		{"host's uid 0", func(s *Spec) { s.HostUID = 0 }, "uid or gid 0"},
		{"host's gid 0", func(s *Spec) { s.HostGID = 0 }, "uid or gid 0"},
		{"no tier", func(s *Spec) { s.Tier = "" }, "tier"},
		{"no network", func(s *Spec) { s.Net = "lan" }, "network"},
		{"no tree", func(s *Spec) { s.TreeDirs = nil }, "no directory of the tree"},
		{"nested tree directory", func(s *Spec) { s.TreeDirs = []string{"/mnt/x"} }, "top-level"},
		{"tree directories in one another", func(s *Spec) { s.Tier = Host; s.TreeDirs = []string{"/srv/a", "/srv"} }, "lie in one another"},
		{"tree over /usr", func(s *Spec) { s.TreeDirs = []string{"/usr"} }, "place of the sandbox's own"},
		{"mount outside", func(s *Spec) { s.Mounts = []string{"/usr/x"} }, "not in a directory of the tree"},
		{"read-only outside", func(s *Spec) { s.ReadOnly = []string{"/etc"} }, "not in a directory of the tree"},
		{"read-only unclean", func(s *Spec) { s.ReadOnly = []string{"/mnt/../etc"} }, "not in a directory of the tree"},
		{"host name", func(s *Spec) { s.Hostname = "a\nb" }, "host name"},
		{"home", func(s *Spec) { s.Home = "/a:b" }, "home"},
		{"name", func(s *Spec) { s.Name = "../x" }, "name"},
		{"too much extra", func(s *Spec) { s.Extra = make([]byte, MaxExtra+1) }, "bytes"},
		{"small tmp", func(s *Spec) { s.TmpBytes = 1 }, "1 MiB"},
		{"weight", func(s *Spec) { s.Limits.CPUWeight = 20000 }, "weight"},
		{"no listener", func(s *Spec) { s.Listener = nil }, "listener"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := startBad(t, func(s *Spec) {
				s.Serve = func(f *os.File) error { called = true; f.Close(); return nil }
				if os.Geteuid() == 0 {
					s.HostUID, s.HostGID = testUID, testUID
				}
				c.change(s)
			})
			wantText(t, err, c.want)
		})
	}
	if called {
		t.Error("a tree was mounted for a bad specification")
	}
}

func TestStartFailures(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		private := filepath.Join(t.TempDir(), "private")
		if err := os.WriteFile(private, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			change func(*Spec)
			want   []string
		}{
			{"program not executable", func(s *Spec) { s.Program = private }, []string{opExec, "chmod 755"}},
			{"program missing", func(s *Spec) { s.Program = "/nonexistent/program" }, []string{opExec, "no such file"}},
			{"program is no guest", func(s *Spec) { s.Program = "/bin/true" }, []string{"it ended while its world was being built"}},
			{"read-only path missing", func(s *Spec) { s.ReadOnly = []string{"/mnt/absent"} }, []string{"bind /mnt/absent read-only", "no such file"}},
			{"tree directory missing", func(s *Spec) { s.TreeDirs = []string{"/mnt", "/absent"} }, []string{"bind /absent of the tree", "no such file"}},
			{"no place on the host", func(s *Spec) { s.Tier = Host; s.TreeDirs = []string{"/hidden"}; s.Mounts, s.ReadOnly = nil, nil },
				[]string{"find the place for /hidden", "mkdir -p /hidden"}},
			{"server fails", func(s *Spec) {
				s.Serve = func(f *os.File) error { f.Close(); return errors.New("no server today") }
			}, []string{"serve the tree", "no server today"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				err := startBad(t, c.change)
				wantText(t, err, c.want...)
				if strings.Contains(err.Error(), private) || strings.Contains(err.Error(), "/nonexistent") {
					t.Errorf("a host path is shown: %v", err)
				}
			})
		}
	})
}

// TestDeadline has a guest that never answers.
func TestDeadline(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		s, _ := baseSpec(t)
		s.Serve = serveLater(t, &s)
		s.Program, s.Argv = "/bin/sleep", []string{"sleep", "1000"}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := Start(ctx, s)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("want the deadline's error, got %v", err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// withoutParts are worlds in which a sandbox cannot be had, each in a process
// of its own, and what the error must say there.
var without = map[string]struct {
	user  bool // the process is an ordinary user's
	prep  func() error
	wants []string
}{
	"namespaces": {prep: func() error {
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}, wants: []string{opClone, "no space left on device", "sysctl -w user.max_user_namespaces=10000"}},
	"fuse device": {prep: func() error {
		if err := unix.Mount("tmpfs", "/dev", "tmpfs", 0, "size=64k"); err != nil {
			return err
		}
		return unix.Mknod("/dev/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	}, wants: []string{opOpenFuse, "no such file", "modprobe fuse", "--device /dev/fuse"}},
	"fuse permission": {user: true, prep: func() error {
		return openFuseToAll(0o600)
	}, wants: []string{opOpenFuse, "permission denied", "chmod 666 /dev/fuse", "udev"}},
	"whole proc": {prep: func() error {
		return unix.Mount("/dev/null", "/proc/keys", "", unix.MS_BIND, "")
	}, wants: []string{opProc, "operation not permitted", "systempaths=unconfined"}},
	"whole proc, user": {user: true, prep: func() error {
		if err := openFuseToAll(0o666); err != nil {
			return err
		}
		return unix.Mount("/dev/null", "/proc/keys", "", unix.MS_BIND, "")
	}, wants: []string{opProc, "operation not permitted", "systempaths=unconfined"}},
}

func TestWithout(t *testing.T) {
	needFuse(t)
	if os.Geteuid() != 0 {
		testenv.Skip(t, "hiding parts of the machine needs root")
	}
	for name, c := range without {
		t.Run(name, func(t *testing.T) {
			cmd := osexec.Command("/proc/self/exe")
			cmd.Args = []string{"jail-test", "without", name}
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
			if name == "namespaces" {
				// The setting belongs to a user namespace; ours stays as it is.
				cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
				cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: 0, ContainerID: 0, Size: 300000}}
				cmd.SysProcAttr.GidMappings = cmd.SysProcAttr.UidMappings
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, w := range c.wants {
				if !strings.Contains(string(out), w) {
					t.Errorf("want %q, got:\n%s", w, out)
				}
			}
		})
	}
}

// runWithout is the part of TestWithout in the other process.
func runWithout(args []string) error {
	c := without[args[0]]
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := c.prep(); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if c.user {
		if err := becomeUser(); err != nil {
			return err
		}
		// As a fresh program: changing ids made this one non-dumpable.
		return unix.Exec("/proc/self/exe", []string{"jail-test", "start"}, os.Environ())
	}
	return startPart(nil)
}

// startPart starts a jail without the testing package and prints the error.
func startPart([]string) error {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	s := Spec{Tier: Isolated, Net: NetNone, HostUID: testUID, HostGID: testUID,
		TreeDirs: []string{"/mnt"}, Listener: f}
	if os.Geteuid() != 0 {
		s.HostUID, s.HostGID = uint32(os.Geteuid()), uint32(os.Getegid())
	}
	s.Serve = func(f *os.File) error {
		go func() { // a server that answers nothing: none of these get that far
			buf := make([]byte, 1<<20)
			for {
				if _, err := f.Read(buf); err != nil {
					f.Close()
					return
				}
			}
		}()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	j, err := Start(ctx, s)
	if err == nil {
		j.Close()
		return errors.New("started")
	}
	fmt.Println(err)
	return nil
}

func TestCures(t *testing.T) {
	knobs := func(kv ...string) func(string) string {
		return func(name string) string {
			for i := 0; i+1 < len(kv); i += 2 {
				if kv[i] == name {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		op    string
		err   error
		knobs func(string) string
		want  string
	}{
		{opClone, unix.EPERM, knobs("kernel/unprivileged_userns_clone", "0"), "kernel.unprivileged_userns_clone=1"},
		{opClone, unix.EPERM, knobs("kernel/apparmor_restrict_unprivileged_userns", "1"), "AppArmor"},
		{opPrivate, unix.EACCES, knobs("kernel/apparmor_restrict_unprivileged_userns", "1"), "kernel.apparmor_restrict_unprivileged_userns=0"},
		{opClone, unix.ENOSPC, knobs("user/max_net_namespaces", "0"), "user.max_net_namespaces=10000"},
		{opClone, unix.ENOSPC, knobs("user/max_net_namespaces", "9"), "end some sandboxes"},
		{opClone, unix.EUSERS, knobs(), "nested too deeply"},
		{opClone, unix.EAGAIN, knobs(), "ulimit -u"},
		{opClone, unix.EPERM, knobs(), "--cap-add SYS_ADMIN"},
		{opOpenFuse, unix.EPERM, knobs(), "--device /dev/fuse"},
		{opOpenFuse, unix.ENODEV, knobs(), "modprobe fuse"},
		{opFsopen, unix.ENODEV, knobs(), "modprobe fuse"},
		{opFsopen, unix.ENOSYS, knobs(), "Linux 6.1"},
		{"open_tree", unix.ENOSYS, knobs(), "Linux 6.1"},
	} {
		if got := cureFor(c.op, c.err, c.knobs); !strings.Contains(got, c.want) {
			t.Errorf("%s, %v: want %q, got %q", c.op, c.err, c.want, got)
		}
	}
}

// devNull and noServer fill a spec that is checked and not started.
var devNull, _ = os.Open(os.DevNull)

func noServer(f *os.File) error { return f.Close() }
