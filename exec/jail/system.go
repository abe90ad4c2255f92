package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/exec/procmask"
)

// systemDirs are the places of the host's programs. On a merged-usr system
// all but the first are symbolic links into /usr and stay links.
var systemDirs = [...]string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt"}

// buildSystem shows the host's programs and libraries, read-only.
func buildSystem(w *world, root int) error {
	for _, name := range systemDirs {
		var st unix.Stat_t
		err := unix.Lstat("/"+name, &st)
		switch {
		case errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			return failed("stat /"+name, err)
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			target, err := os.Readlink("/" + name)
			if err != nil {
				return failed("readlink /"+name, err)
			}
			if !strings.HasPrefix(path.Join("/", target), "/usr/") {
				continue // a link out of what is shown would name a host path
			}
			if err := unix.Symlinkat(target, root, name); err != nil {
				return failed("symlink /"+name, err)
			}
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			if err := makeDir(root, name); err != nil {
				return failed("mkdir /"+name, err)
			}
			if err := bindReadOnly("/"+name, root, name); err != nil {
				return failed("bind /"+name, err)
			}
		}
	}
	return nil
}

// buildProc mounts a /proc that shows the sandbox's processes only. Its
// kernel settings belong to the host's uid 0, which nobody here is.
func buildProc(w *world, root int) error {
	if err := makeDir(root, "proc"); err != nil {
		return failed("mkdir /proc", err)
	}
	mnt, err := newFS("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return failed(opProc, err)
	}
	if err := attach(mnt, root, "proc"); err != nil {
		return failed(opProc, err)
	}
	if err := coverProc(root); err != nil {
		return err
	}
	w.Isolation["proc"] = "private"
	return nil
}

// coverProc covers what /proc shows of the host. Slots copy the covers of
// directories into theirs.
func coverProc(root int) error {
	empty, err := newFS("tmpfs", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC,
		option{"size", "4k"}, option{"nr_inodes", "2"}, option{"mode", "555"})
	if err != nil {
		return failed("mount an empty tmpfs", err)
	}
	defer empty.Close()
	cover := func(name string, source int, path string, flags uint) error {
		mnt, err := clone(source, path, flags)
		if err != nil {
			return failed("copy a cover for /proc/"+name, err)
		}
		if err := attach(mnt, root, "proc/"+name); err != nil && !errors.Is(err, unix.ENOENT) { // not in every kernel
			return failed("cover /proc/"+name, err)
		}
		return nil
	}
	for _, name := range procmask.Files() {
		if err := cover(name, unix.AT_FDCWD, "/dev/null", 0); err != nil {
			return err
		}
	}
	for _, name := range procmask.Dirs() {
		if err := cover(name, int(empty.Fd()), "", unix.AT_EMPTY_PATH); err != nil {
			return err
		}
	}
	return nil
}
