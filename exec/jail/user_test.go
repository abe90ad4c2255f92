package jail

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ordinaryUID is a uid without a name, for tests that root runs as somebody
// else.
const ordinaryUID = 61234

// rerunAsUser runs one test of this binary again as an ordinary user, in a
// mount namespace where /dev/fuse is open to all as distributions have it.
func rerunAsUser(t *testing.T, name string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "jail-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, ordinaryUID, ordinaryUID); err != nil {
		t.Fatal(err)
	}
	out := rerun(t, "as-user", dir, "-test.run=^"+name+"$", "-test.v", "-test.timeout=100s")
	if !strings.Contains(out, "\n--- PASS: "+name+" (") || strings.Contains(out, "--- FAIL") {
		t.Errorf("as an ordinary user:\n%s", out)
	}
	if strings.Contains(out, "--- SKIP") {
		t.Errorf("skipped as an ordinary user:\n%s", out)
	}
}

// rerun starts this binary in a part that needs a mount namespace of its own,
// and returns its output.
func rerun(t *testing.T, part string, args ...string) string {
	t.Helper()
	cmd := osexec.Command("/proc/self/exe")
	cmd.Args = append([]string{"jail-test", part}, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s %v: %v", part, args, err)
	}
	return string(out)
}

// asUser is the part of rerunAsUser that runs as root: it opens /dev/fuse to
// all, becomes the user and executes the tests.
func asUser(args []string) error {
	if err := openFuseToAll(0o666); err != nil {
		return err
	}
	if err := becomeUser(); err != nil {
		return err
	}
	os.Setenv("TMPDIR", args[0])
	os.Unsetenv(planted)
	return unix.Exec("/proc/self/exe", append([]string{"jail.test"}, args[1:]...), os.Environ())
}

func becomeUser() error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(ordinaryUID); err != nil {
		return err
	}
	return syscall.Setuid(ordinaryUID)
}

// openFuseToAll covers /dev/fuse with a node of the given mode, in this mount
// namespace only.
func openFuseToAll(mode uint32) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("/tmp", "jail-dev-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	node := dir + "/fuse"
	if err := unix.Mknod(node, unix.S_IFCHR|mode, int(unix.Mkdev(10, 229))); err != nil {
		return fmt.Errorf("mknod: %w", err)
	}
	if err := unix.Chmod(node, mode); err != nil {
		return err
	}
	if err := unix.Mount(node, "/dev/fuse", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}
