package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// scratchDirs are the writable places outside the tree. They share one tmpfs,
// so that one number bounds what they take of the host's memory together.
var scratchDirs = [...]struct {
	name, at string
	mode     uint32
}{
	{"tmp", "tmp", 0o1777},
	{"var-tmp", "var/tmp", 0o1777},
	{"run", "run", 0o755},
	{"shm", "dev/shm", 0o1777},
}

// buildScratch makes /tmp, /var/tmp, /run and /dev/shm.
func buildScratch(w *world, root int) error {
	// A file takes about a kilobyte of the kernel's memory however small it
	// is, so their number is bounded as well: one for every 4 KiB.
	inodes := max(1024, w.TmpBytes/4096)
	mnt, err := newFS("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV,
		option{"size", strconv.FormatInt(w.TmpBytes, 10)},
		option{"nr_inodes", strconv.FormatInt(inodes, 10)}, option{"mode", "755"})
	if err != nil {
		return failed("mount the scratch tmpfs", err)
	}
	if err := makeDir(root, "var"); err != nil {
		return failed("mkdir /var", err)
	}
	if err := unix.Symlinkat("../run", root, "var/run"); err != nil {
		return failed("symlink /var/run", err)
	}
	// Attached at its first place, cut into four, and the whole let go again.
	for _, d := range scratchDirs {
		if err := makeDir(root, d.at); err != nil {
			return failed("mkdir /"+d.at, err)
		}
	}
	const first = "tmp"
	if err := attach(mnt, root, first); err != nil {
		return failed("mount the scratch tmpfs", err)
	}
	parts := make([]detached, 0, len(scratchDirs))
	for _, d := range scratchDirs {
		if err := makeDir(root, first+"/"+d.name); err != nil {
			return failed("mkdir /"+d.at, err)
		}
		if err := unix.Fchmodat(root, first+"/"+d.name, d.mode, 0); err != nil {
			return failed("chmod /"+d.at, err)
		}
		part, err := clone(root, first+"/"+d.name, 0)
		if err != nil {
			return failed("bind /"+d.at, err)
		}
		parts = append(parts, detached{part, d.at})
	}
	if err := detach(root, first); err != nil {
		return err
	}
	return attachAll(root, parts)
}
