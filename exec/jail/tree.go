package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
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

// attachTree puts the tree's directories into the root, and mounts over those
// of its paths that are to be mounts of their own or are read-only. A whole
// tree is attached for a moment only, so that no mount shows more of it than
// asked. All parts are copied before one is attached, since below a read-only
// mount a copy of what is writable would be read-only too.
func attachTree(w *world, root int, mounts []*os.File) error {
	for _, d := range w.TreeDirs {
		if err := mountPoint(w, root, strings.TrimPrefix(d, "/")); err != nil {
			return err
		}
	}
	first, second := append(slices.Clone(w.TreeDirs), w.Mounts...), w.ReadOnly
	if len(mounts) == 1 {
		first, second = append(first, w.ReadOnly...), nil
	}
	parts, err := copyParts(w, root, mounts[0], first)
	if err == nil && second != nil {
		var more []detached
		more, err = copyParts(w, root, mounts[1], second)
		parts = append(parts, more...)
	}
	if err != nil {
		return err
	}
	// Outer ones first, and the second tree's over the first's.
	slices.SortStableFunc(parts, func(a, b detached) int { return strings.Compare(a.at, b.at) })
	return attachAll(root, parts)
}

// attachAll attaches mounts in their order.
func attachAll(root int, parts []detached) error {
	for _, p := range parts {
		if err := attach(p.mnt, root, p.at); err != nil {
			return failed("attach /"+p.at, err)
		}
	}
	return nil
}

// copyParts attaches a tree where the first directory will be, copies the paths
// out of it and detaches it.
func copyParts(w *world, root int, tree *os.File, paths []string) ([]detached, error) {
	at := strings.TrimPrefix(w.TreeDirs[0], "/")
	err := unix.MoveMount(int(tree.Fd()), "", root, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return nil, failed("attach the tree at /"+at, err)
	}
	var parts []detached
	for _, p := range paths {
		readOnly, what := slices.Contains(w.ReadOnly, p), " of the tree"
		if readOnly {
			what = " read-only"
		}
		part, err := clone(root, at+p, 0)
		if err != nil {
			return nil, failed("bind "+p+what, err)
		}
		parts = append(parts, detached{part, strings.TrimPrefix(p, "/")})
		if !readOnly {
			continue
		}
		if err := restrict(part, unix.MOUNT_ATTR_RDONLY, 0); err != nil {
			return nil, failed("make "+p+" read-only", err)
		}
	}
	return parts, detach(root, at)
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

// detach ends what is mounted at a path.
func detach(root int, at string) error {
	// umount has no form that takes a directory descriptor, so the path is
	// made relative by going there; the cwd is set anew when all is built.
	if err := unix.Fchdir(root); err != nil {
		return failed("fchdir to the new root", err)
	}
	if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return failed("detach /"+at, err)
	}
	return nil
}
