package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"os"

	"golang.org/x/sys/unix"
)

// buildHost puts the tree into a private copy of the host's mounts and gives
// it a /proc that fits the new pid namespace. Everything else is the host's.
func buildHost(w *world, mounts []*os.File) error {
	// Slave and not private: what the host mounts later (a disk, an automount)
	// is to be seen here, and nothing of ours is to be seen there.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return failed(opPrivate, err)
	}
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("open /", err)
	}
	defer unix.Close(fd)
	if err := attachTree(w, fd, mounts); err != nil {
		return err
	}
	mnt, err := newFS("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return failed(opProc, err)
	}
	if err := attach(mnt, fd, "proc"); err != nil {
		return failed(opProc, err)
	}
	w.Isolation["proc"] = "private"
	w.Isolation["root"] = "the host's"
	if err := unix.Chdir("/"); err != nil {
		return failed("chdir to the root", err)
	}
	return network(w)
}
