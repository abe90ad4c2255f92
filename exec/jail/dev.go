package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"os"

	"golang.org/x/sys/unix"
)

// devices are the host's device nodes that a sandbox has.
var devices = [...]string{"null", "zero", "full", "random", "urandom", "tty"}

// devLinks are the links that programs expect in /dev.
var devLinks = [...][2]string{
	{"/proc/self/fd", "fd"},
	{"/proc/self/fd/0", "stdin"},
	{"/proc/self/fd/1", "stdout"},
	{"/proc/self/fd/2", "stderr"},
	{"pts/ptmx", "ptmx"},
}

// buildDev makes /dev: a few harmless devices and terminals of the sandbox's
// own. It is part of the root tmpfs and so read-only in the end.
func buildDev(w *world, root int) error {
	if err := makeDir(root, "dev"); err != nil {
		return failed("mkdir /dev", err)
	}
	for _, d := range devices {
		at := "dev/" + d
		if err := writeFile(root, at, nil, 0o666); err != nil {
			return failed("create /"+at, err)
		}
		// A device node cannot be made in a user namespace; the host's is
		// shown. It keeps its device, so no nodev here.
		mnt, err := clone(unix.AT_FDCWD, "/"+at, 0)
		if err != nil {
			return failed("bind /"+at, err)
		}
		if err := restrict(mnt, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, 0); err != nil {
			mnt.Close()
			return failed("restrict /"+at, err)
		}
		if err := attach(mnt, root, at); err != nil {
			return failed("attach /"+at, err)
		}
	}
	for _, l := range devLinks {
		if err := unix.Symlinkat(l[0], root, "dev/"+l[1]); err != nil {
			return failed("symlink /dev/"+l[1], err)
		}
	}
	return buildPts(root)
}

// buildPts mounts an own set of pseudo-terminals.
func buildPts(root int) error {
	if err := makeDir(root, "dev/pts"); err != nil {
		return failed("mkdir /dev/pts", err)
	}
	var mnt *os.File
	mnt, err := newFS("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC,
		option{"newinstance", ""}, option{"ptmxmode", "0666"}, option{"mode", "620"})
	if err != nil {
		return failed("mount /dev/pts", err)
	}
	if err := attach(mnt, root, "dev/pts"); err != nil {
		return failed("mount /dev/pts", err)
	}
	return nil
}
