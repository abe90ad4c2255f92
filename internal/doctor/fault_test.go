package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

const (
	testName = "doctor-test"
	// ordinaryUID has no name.
	ordinaryUID = 61235
	ourVersion  = "unknown" // what a test program and one built by a test say
)

func TestMain(m *testing.M) {
	switch {
	case IsChild():
		os.Exit(ChildMain())
	case os.Args[0] == testName:
		if err := faultMain(os.Args[1], os.Args[2], len(os.Args) > 3); err != nil {
			fmt.Fprintln(os.Stderr, os.Args[1]+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fault is a machine on which something is wrong, in a process and namespaces
// of its own. Each is looked at by the whole doctor.
type fault struct {
	short  bool // also in a short run, as under the race detector
	user   bool // the doctor is an ordinary user's
	userNS bool // in a user namespace, whose settings are not the machine's
	// spoil makes the fault; dir is the test's directory, in which home and
	// run are the data and the runtime directory.
	spoil func(dir string) error
	// want has, for a check, its status and parts of what it says.
	want map[string][]string
}

// anyLeftovers is wanted where there are none of the test's own: the machine's
// groups are seen too, and other tests kill keepers at the same time.
var anyLeftovers = []string{"", " sandboxes "}

// faults are the machines. A check that is not named must not fail.
var faults = map[string]fault{
	"nothing is wrong": {short: true, spoil: func(string) error { return nil }, want: map[string][]string{
		"namespaces": {"ok"}, "proc": {"ok"}, "fuse-mount": {"ok"}, "seccomp": {"ok"}, "space": {"ok"}, "leftovers": anyLeftovers, "sandbox": {"ok", "started in"},
	}},
	"nothing is wrong for a user": {short: true, user: true, spoil: func(string) error { return openFuseToAll(0o666) }, want: map[string][]string{
		"fuse-device": {"ok", "mode 0666"}, "namespaces": {"ok"}, "passthrough": {"warn", "only root's"}, "sandbox": {"ok", "started in"},
	}},
	"no namespaces": {userNS: true, spoil: func(string) error {
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}, want: map[string][]string{
		"namespaces":  {"fail", "clone with new namespaces", "sysctl -w user.max_user_namespaces=10000"},
		"proc":        {"fail"},
		"fuse-mount":  {"fail"},
		"passthrough": {"warn"},
		"sandbox":     {"fail"},
	}},
	"few namespaces": {userNS: true, spoil: func(string) error {
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("40"), 0)
	}, want: map[string][]string{
		"namespaces": {"warn", "at most 40", "sysctl -w user.max_user_namespaces=10000"},
		"sandbox":    nil,
	}},
	"no inotify": {userNS: true, spoil: func(string) error {
		return os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0)
	}, want: map[string][]string{"inotify": {"warn", "too many open files", "sysctl -w fs.inotify.max_user_instances=1024"}, "sandbox": nil}},
	"masked /proc": {spoil: func(string) error {
		return unix.Mount("/dev/null", "/proc/keys", "", unix.MS_BIND, "")
	}, want: map[string][]string{
		"proc":    {"fail", "mount /proc: operation not permitted", "systempaths=unconfined"},
		"sandbox": {"fail", "mount /proc", "systempaths=unconfined"},
	}},
	"no /dev/fuse": {spoil: func(string) error {
		if err := unix.Mount("tmpfs", "/dev", "tmpfs", 0, "size=64k"); err != nil {
			return err
		}
		return unix.Mknod("/dev/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))
	}, want: map[string][]string{
		"fuse-device": {"fail", "no such file", "modprobe fuse", "--device /dev/fuse"},
		"fuse-mount":  {"fail"},
		"sandbox":     {"fail", "modprobe fuse"},
	}},
	"closed /dev/fuse": {user: true, spoil: func(string) error { return openFuseToAll(0) }, want: map[string][]string{
		"fuse-device": {"fail", "permission denied", "chmod 666 /dev/fuse", "udev"},
		"fuse-mount":  {"fail", "chmod 666 /dev/fuse"},
		"sandbox":     {"fail", "chmod 666 /dev/fuse"},
	}},
	"root's /dev/fuse alone": {spoil: func(string) error { return openFuseToAll(0o600) }, want: map[string][]string{
		"fuse-device": {"warn", "mode 0600", "ordinary users", "chmod 666 /dev/fuse"},
		"sandbox":     {"ok"},
	}},
	"no fusermount3": {user: true, spoil: func(dir string) error {
		os.Setenv("PATH", dir)
		return openFuseToAll(0o666)
	}, want: map[string][]string{"fusermount": {"warn", "no fusermount3", "apt-get install fuse3"}, "sandbox": {"ok"}}},
	"fusermount3 without set-uid": {user: true, spoil: func(dir string) error {
		os.Setenv("PATH", dir)
		return errors.Join(openFuseToAll(0o666), os.WriteFile(dir+"/fusermount3", []byte("#!/bin/sh\n"), 0o755))
	}, want: map[string][]string{"fusermount": {"warn", "not set-uid", "chmod 4755"}}},
	"no /etc/mtab": {user: true, spoil: func(string) error {
		return errors.Join(openFuseToAll(0o666), unix.Mount("tmpfs", "/etc", "tmpfs", 0, "size=64k"))
	}, want: map[string][]string{"fusermount": {"warn", "no /etc/mtab", "as root: ln -s"}, "sandbox": nil}},
	"no control groups": {spoil: func(string) error {
		return unix.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, "size=64k")
	}, want: map[string][]string{"cgroups": {"warn", "no cgroup can be had", "systemd-run --user"}, "sandbox": {"ok"}}},
	"few descriptors": {spoil: func(string) error {
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1000, Max: 1000})
	}, want: map[string][]string{"descriptors": {"warn", "at most 1000", "hard nofile"}}},
	"no sandboxfsd": {spoil: func(string) error { return os.Setenv("SANDBOXFSD", "/nonexistent") }, want: map[string][]string{
		"sandboxfsd": {"fail", "$SANDBOXFSD"}, "sandbox": {"fail", "$SANDBOXFSD"},
	}},
	"another sandboxfsd": {spoil: func(dir string) error {
		os.Setenv("SANDBOXFSD", dir+"/other")
		return os.WriteFile(dir+"/other", []byte("#!/bin/sh\necho sandboxfsd 0.0.1\n"), 0o755)
	}, want: map[string][]string{"sandboxfsd": {"warn", "0.0.1", "make install"}, "sandbox": {"fail"}}},
	"a sandboxfsd that hangs": {spoil: func(dir string) error {
		os.Setenv("SANDBOXFSD", dir+"/other")
		return os.WriteFile(dir+"/other", []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755)
	}, want: map[string][]string{"sandboxfsd": {"fail", "does not run"}, "sandbox": nil}},
	"read-only data directory": {spoil: func(dir string) error {
		return errors.Join(os.Mkdir(dir+"/home", 0o755), unix.Mount("tmpfs", dir+"/home", "tmpfs", unix.MS_RDONLY, ""))
	}, want: map[string][]string{"data-directory": {"fail", "read-only file system", "SANDBOXFS_HOME"}, "passthrough": {"warn"}, "sandbox": {"fail"}}},
	"data directory in memory, and full": {spoil: func(dir string) error {
		err := errors.Join(os.Mkdir(dir+"/home", 0o755), unix.Mount("tmpfs", dir+"/home", "tmpfs", 0, "size=1m"))
		fill, createErr := os.Create(dir + "/home/fill")
		if createErr != nil {
			return createErr
		}
		fill.Write(make([]byte, 2<<20)) // until there is no more
		return errors.Join(err, fill.Close())
	}, want: map[string][]string{"data-directory": {"fail", "no space left"}, "space": {"fail", "0 MiB of 1 MiB free"}, "passthrough": {""}, "sandbox": nil}},
	"runtime directory open to others": {spoil: func(dir string) error {
		return errors.Join(os.Mkdir(dir+"/run", 0o777), os.Chmod(dir+"/run", 0o777))
	}, want: map[string][]string{
		"runtime-directory": {"fail", "others can write", "chmod 700"}, "leftovers": {"fail"}, "sandbox": {"fail", "others can write"},
	}},
	"what crashed sandboxes left": {spoil: func(dir string) error { return os.MkdirAll(dir+"/run/sb-0123456789abcdef", 0o700) }, want: map[string][]string{
		"leftovers": {"warn", "1 crashed", "sandboxfs gc"}, "sandbox": {"ok"},
	}},
	"a dead mount": {spoil: func(dir string) error {
		device, err := mountTree(dir+"/it's dead", nil)
		return errors.Join(err, unix.Close(device))
	}, want: map[string][]string{"stale-mounts": {"warn", "it's dead", `umount -l '`, `/it'\''s dead'`}, "sandbox": {"ok"}}},
	"a mount whose server is stuck": {short: true, spoil: func(dir string) error {
		_, err := mountTree(dir+"/stuck", stuck)
		return err
	}, want: map[string][]string{"stale-mounts": {"warn", "/stuck"}, "sandbox": {"ok"}}},
	"a data directory that hangs": {spoil: func(dir string) error {
		_, err := mountTree(dir+"/home", stuck)
		return err
	}, want: map[string][]string{
		"passthrough":       nil,
		"data-directory":    {"fail", "did not end within"},
		"runtime-directory": {"ok"},
		"space":             {"fail", "did not end within"},
		"stale-mounts":      nil,
		"leftovers":         anyLeftovers,
		"sandbox":           {"fail", "not tried"},
	}},
}

// openFuseToAll covers /dev/fuse with a node of the given mode.
func openFuseToAll(mode uint32) error {
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "size=64k"); err != nil {
		return err
	}
	if err := unix.Mknod("/mnt/fuse", unix.S_IFCHR|mode, int(unix.Mkdev(10, 229))); err != nil {
		return err
	}
	return errors.Join(unix.Chmod("/mnt/fuse", mode), unix.Mount("/mnt/fuse", "/dev/fuse", "", unix.MS_BIND, ""), unix.Unmount("/mnt", unix.MNT_DETACH))
}

// mountTree mounts a tree as ours look like, with a server or none.
func mountTree(at string, serve func(device int)) (device int, err error) {
	if err := os.Mkdir(at, 0o755); err != nil {
		return -1, err
	}
	device, err = unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Mount("sandboxfs", at, "fuse.sandboxfs", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device))
	if err == nil && serve != nil {
		go serve(device)
	}
	return device, err
}

// stuck takes requests and never answers one: whoever made it waits beyond the
// reach of signals.
func stuck(device int) {
	if _, err := initialise(device); err != nil {
		fmt.Fprintln(os.Stderr, "initialise:", err)
	}
	for buf := make([]byte, 1<<20); ; {
		if _, err := unix.Read(device, buf); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func TestFaults(t *testing.T) {
	testenv.RequireRoot(t)
	testenv.RequireFUSE(t)
	programs := testenv.Binaries(t)
	for name, f := range faults {
		if testing.Short() && !f.short {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "doctor-fault-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if f.user {
				if err := os.Chown(dir, ordinaryUID, ordinaryUID); err != nil {
					t.Fatal(err)
				}
			}
			testenv.NoLeaks(t, testenv.Leaks{MountsBelow: []string{dir}, Cgroups: "sb-doctor-"})
			if left, err := cgroup.Abandoned(0); err == nil && len(left) > 0 {
				// What crashed on this machine before is not of this test.
				f.want = maps.Clone(f.want)
				delete(f.want, "leftovers")
			}
			out := runFault(t, name, dir, f, programs)
			judge(t, f, out)
			for _, left := range []string{"home/.doctor-*", "home/users", "home/skills", "run/sb-*/sock"} {
				if found, _ := filepath.Glob(filepath.Join(dir, left)); len(found) > 0 {
					t.Errorf("left: %v", found)
				}
			}
		})
	}
}

// runFault runs the doctor on the broken machine.
func runFault(t *testing.T, name, dir string, f fault, programs testenv.Programs) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := osexec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{testName, name, dir}
	cmd.Env = append(os.Environ(), "SANDBOXFSD="+programs.Sandboxfsd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	if f.userNS {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: 0, ContainerID: 0, Size: 300000}}
		cmd.SysProcAttr.GidMappings = cmd.SysProcAttr.UidMappings
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	runtime.LockOSThread() // the parent-death signal is the thread's
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

func judge(t *testing.T, f fault, out []byte) {
	t.Helper()
	seen := 0
	for in := json.NewDecoder(bytes.NewReader(out)); in.More(); seen++ {
		var got Finding
		if err := in.Decode(&got); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s; %s; %s", got.Detail, got.Lost, got.Cure)
		want, named := f.want[got.Check]
		switch {
		case !named && got.Status == Fail:
			t.Errorf("%s failed: %s", got.Check, text)
		case len(want) > 0 && want[0] != "" && string(got.Status) != want[0]:
			t.Errorf("%s: want %s, got %s: %s", got.Check, want[0], got.Status, text)
		}
		for _, part := range want[min(1, len(want)):] {
			if !strings.Contains(text, part) {
				t.Errorf("%s: want %q in: %s", got.Check, part, text)
			}
		}
		if got.Status != OK && (got.Detail == "" || got.Lost == "") {
			t.Errorf("%s does not say what is lost: %s", got.Check, text)
		}
	}
	if want := len(checks()) + 1; seen != want {
		t.Errorf("%d checks were made, want %d:\n%s", seen, want, out)
	}
}

// faultMain runs in the broken machine: it breaks it, becomes the user where
// it is a user's, and runs the doctor.
func faultMain(name, dir string, ready bool) error {
	f := faults[name]
	if !ready {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := f.spoil(dir); err != nil {
			return fmt.Errorf("break the machine: %w", err)
		}
		if f.user {
			err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(ordinaryUID), syscall.Setuid(ordinaryUID))
			if err != nil {
				return err
			}
			// As a fresh program: changing ids made this one non-dumpable.
			return unix.Exec("/proc/self/exe", []string{testName, name, dir, "ready"}, os.Environ())
		}
	}
	out := json.NewEncoder(os.Stdout)
	_, err := Run(context.Background(), Options{
		Config:  provider.Config{Home: dir + "/home", RuntimeDir: dir + "/run"},
		Version: ourVersion, Deadline: 3 * time.Second,
	}, func(f Finding) { out.Encode(f) })
	return err
}
