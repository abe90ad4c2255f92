package jail

// Thin forms of the mount calls. All work on descriptors: a mount is made
// detached, given its flags, and only then attached.

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// option is one key and value for a new filesystem.
type option struct{ key, value string }

// newFS makes a filesystem and a detached mount of it with the given mount
// attributes.
func newFS(kind string, attr int, opts ...option) (*os.File, error) {
	ctx, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ctx)
	for _, o := range append([]option{{"source", kind}}, opts...) {
		if o.value == "" {
			err = unix.FsconfigSetFlag(ctx, o.key)
		} else {
			err = unix.FsconfigSetString(ctx, o.key, o.value)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return nil, err
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), kind), nil
}

// clone makes a detached bind mount of a path relative to a directory. With
// unix.AT_RECURSIVE what is mounted below it comes along, as the kernel
// demands of mounts that were copied from another user namespace.
func clone(dir int, path string, flags uint) (*os.File, error) {
	fd, err := unix.OpenTree(dir, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW|flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "mount"), nil
}

// restrict sets attributes on a mount; recursive with unix.AT_RECURSIVE.
func restrict(mnt *os.File, attr uint64, flags uint) error {
	return unix.MountSetattr(int(mnt.Fd()), "", unix.AT_EMPTY_PATH|flags, &unix.MountAttr{Attr_set: attr})
}

// attach puts a detached mount at a path relative to a directory, and closes
// it.
func attach(mnt *os.File, dir int, at string) error {
	defer mnt.Close()
	return unix.MoveMount(int(mnt.Fd()), "", dir, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// bindReadOnly attaches a host's path, with all that is mounted below it, at
// a place in the new root, read-only and without devices and set-id programs.
func bindReadOnly(source string, root int, at string) error {
	mnt, err := clone(unix.AT_FDCWD, source, unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	err = restrict(mnt, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, unix.AT_RECURSIVE)
	if err != nil {
		mnt.Close()
		return err
	}
	return attach(mnt, root, at)
}

// makeDir makes a directory that may be there already.
func makeDir(root int, at string) error {
	if err := unix.Mkdirat(root, at, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// writeFile makes a file of the new root.
func writeFile(root int, at string, content []byte, mode uint32) error {
	fd, err := unix.Openat(root, at, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "file")
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
