package jail

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// source is what mountinfo and df show as the tree's device.
const source = "sandboxfs"

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
func mountFuse(fuse *os.File, user, group uint32) (*os.File, error) {
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
	for _, o := range []string{"allow_other", "default_permissions"} {
		if err := unix.FsconfigSetFlag(ctx, o); err != nil {
			return nil, failed("fsconfig(fuse, "+o+")", err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return nil, failed("fsconfig(fuse, create)", err)
	}
	fd, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, failed("fsmount(fuse)", err)
	}
	return os.NewFile(uintptr(fd), "tree"), nil
}
