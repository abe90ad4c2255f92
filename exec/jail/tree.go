package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// detached is a mount that waits to be put at a path of the root.
type detached struct {
	mnt *os.File
	at  string
}

// attachTree puts the tree's directories into the root, and read-only mounts
// over those of its paths that are read-only. The whole tree
// is attached for a moment only, so that no mount shows more of it than asked.
func attachTree(w *world, root int, tree *os.File) error {
	for _, d := range w.TreeDirs {
		if err := mountPoint(w, root, strings.TrimPrefix(d, "/")); err != nil {
			return err
		}
	}
	first := strings.TrimPrefix(w.TreeDirs[0], "/")
	err := unix.MoveMount(int(tree.Fd()), "", root, first, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return failed("attach the tree at "+w.TreeDirs[0], err)
	}
	var parts []detached
	for _, d := range w.TreeDirs {
		part, err := clone(root, first+d, 0)
		if err != nil {
			return failed("bind "+d+" of the tree", err)
		}
		parts = append(parts, detached{part, strings.TrimPrefix(d, "/")})
	}
	if err := replace(root, first, parts); err != nil {
		return err
	}
	return overlay(w, root)
}

// overlay lays mounts of the tree's paths over the paths themselves: those
// that are to be mounts of their own, and those that are to be read-only. All
// are copied before one is attached, since below a read-only mount a copy of
// what is writable would be read-only too.
func overlay(w *world, root int) error {
	attributes := map[string]uint64{}
	for _, p := range w.Mounts {
		attributes[p] = 0
	}
	for _, p := range w.ReadOnly {
		attributes[p] = unix.MOUNT_ATTR_RDONLY
	}
	paths := slices.Sorted(maps.Keys(attributes)) // outer ones first
	parts := make([]detached, 0, len(paths))
	for _, p := range paths {
		how := ""
		if attributes[p] != 0 {
			how = " read-only"
		}
		at := strings.TrimPrefix(p, "/")
		part, err := clone(root, at, 0)
		if err != nil {
			return failed("bind "+p+how, err)
		}
		parts = append(parts, detached{part, at})
		if err := restrict(part, attributes[p], 0); err != nil {
			return failed("make "+p+how, err)
		}
	}
	for _, p := range parts {
		if err := attach(p.mnt, root, p.at); err != nil {
			return failed("attach /"+p.at, err)
		}
	}
	return nil
}

// mountPoint makes the directory that a part of the tree is put on; the host's
// own root gets none.
func mountPoint(w *world, root int, at string) error {
	if w.Tier == Isolated {
		if err := makeDir(root, at); err != nil {
			return failed("mkdir /"+at, err)
		}
		return nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(root, at, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		e := failed("find the place for /"+at, err)
		e.Cure = "tier host needs a directory there on the host: 'mkdir -p /" + at + "'"
		return e
	}
	return nil
}

// replace detaches what is mounted at a path and attaches the parts.
func replace(root int, at string, parts []detached) error {
	// umount has no form that takes a directory descriptor, so the path is
	// made relative by going there; the cwd is set anew when all is built.
	if err := unix.Fchdir(root); err != nil {
		return failed("fchdir to the new root", err)
	}
	if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return failed("detach /"+at, err)
	}
	for _, p := range parts {
		if err := attach(p.mnt, root, p.at); err != nil {
			return failed("attach /"+p.at, err)
		}
	}
	return nil
}
