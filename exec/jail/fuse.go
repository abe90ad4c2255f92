package jail

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// source is what mountinfo and df show as the tree's device.
const source = "sandboxfs"

// superblock says whether a filesystem can be written at all.
type superblock int

const (
	writable superblock = iota
	readOnly
)

// openFuse opens /dev/fuse. It must be opened in the user namespace that
// mounts; the kernel refuses a descriptor from another one.
func openFuse() (*os.File, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, failed(opOpenFuse, err)
	}
	return os.NewFile(uintptr(fd), "/dev/fuse"), nil
}

// mountFuse makes the mount for an open /dev/fuse, attached nowhere. user and
// group are the mounter's ids in this user namespace.
//
// allow_other lets everybody of this user namespace and of those below it in;
// the kernel keeps all others out. default_permissions has the kernel check
// modes against the owner that the tree shows.
//
// A read-only superblock, and not only a read-only mount, keeps the kernel from
// asking the server about the times of what was read, and makes access(2) exact.
func mountFuse(fuse *os.File, user, group uint32, super superblock) (*os.File, error) {
	ctx, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, failed(opFsopen, err)
	}
	defer unix.Close(ctx)
	for _, o := range [][2]string{
		{"source", source},
		{"subtype", source},
		{"fd", strconv.Itoa(int(fuse.Fd()))},
		{"rootmode", "40000"},
		{"user_id", strconv.Itoa(int(user))},
		{"group_id", strconv.Itoa(int(group))},
	} {
		if err := unix.FsconfigSetString(ctx, o[0], o[1]); err != nil {
			return nil, failed("fsconfig(fuse, "+o[0]+")", err)
		}
	}
	flags, attributes := []string{"allow_other", "default_permissions"}, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV
	if super == readOnly {
		flags, attributes = append(flags, "ro"), attributes|unix.MOUNT_ATTR_RDONLY
	}
	for _, o := range flags {
		if err := unix.FsconfigSetFlag(ctx, o); err != nil {
			return nil, failed("fsconfig(fuse, "+o+")", err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return nil, failed("fsconfig(fuse, create)", err)
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return nil, failed("fsmount(fuse)", err)
	}
	return os.NewFile(uintptr(fd), "tree"), nil
}

// newTree opens a device and mounts it, attached nowhere. Both are the caller's.
func newTree(user, group uint32, super superblock) (fuse, tree *os.File, err error) {
	if fuse, err = openFuse(); err != nil {
		return nil, nil, err
	}
	if tree, err = mountFuse(fuse, user, group, super); err != nil {
		fuse.Close()
		return nil, nil, err
	}
	return fuse, tree, nil
}
