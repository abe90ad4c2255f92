package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
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

// maskedProc are files of /proc that show an ordinary user's sandbox the names
// of the same user's keys outside: keys belong to a uid, whatever the
// namespace. Who mounts another /proc inside has to cover them there as well.
var maskedProc = [...]string{"keys", "key-users"}

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
	for _, name := range maskedProc {
		mnt, err := clone(unix.AT_FDCWD, "/dev/null", 0)
		if err != nil {
			return failed("bind /dev/null", err)
		}
		err = attach(mnt, root, "proc/"+name)
		if err != nil && !errors.Is(err, unix.ENOENT) { // a kernel without keys
			return failed("cover /proc/"+name, err)
		}
	}
	w.Isolation["proc"] = "private"
	return nil
}
