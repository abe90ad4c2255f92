package testenv

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// RequireRoot skips a test that needs uid 0.
func RequireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Skip(t, "needs root; run it as root to include it")
	}
}

// RequireFUSE skips a test that needs /dev/fuse open to this user.
func RequireFUSE(t testing.TB) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
		return
	}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		Skip(t, "there is no /dev/fuse; load the kernel module: modprobe fuse")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		Skip(t, "/dev/fuse is not open to this user; as root: chmod 0666 /dev/fuse")
	default:
		Skip(t, fmt.Sprintf("/dev/fuse cannot be opened: %v", err))
	}
}

// RequireProgram skips a test that needs a program from the machine and
// returns its path. The package is the Debian package to name in the reason.
func RequireProgram(t testing.TB, program, debianPackage string) string {
	t.Helper()
	path, ok := lookProgram(program)
	if !ok {
		Skip(t, fmt.Sprintf("needs %s; install it: apt-get install %s", program, debianPackage))
	}
	return path
}

// RequireFusermount skips a test in which an ordinary user mounts on the host
// and unmounts again.
func RequireFusermount(t testing.TB) {
	t.Helper()
	RequireProgram(t, "fusermount3", "fuse3")
	if _, err := os.Stat("/etc/mtab"); err != nil {
		Skip(t, "fusermount3 unmounts nothing without /etc/mtab; as root: ln -s /proc/self/mounts /etc/mtab")
	}
}
