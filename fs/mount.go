package fs

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// Permissions says who checks whether a user of a mount may do something.
type Permissions int

const (
	// KernelChecks applies the shown owners and modes to each user.
	KernelChecks Permissions = iota
	// ServerChecks lets every user do what the regions allow.
	ServerChecks
)

// Audience says which users of the host may use a mount at all.
type Audience int

const (
	// Everybody may; Permissions decides what they may do.
	Everybody Audience = iota
	// MounterOnly shuts out every user but the one who mounts, root too.
	MounterOnly
)

// MountOptions describe a mount made by [MountDetached].
type MountOptions struct {
	// Source is what df and the mount table show, "sandboxfs" unless set. It
	// must not be a host path.
	Source string
	// Permissions is KernelChecks unless set.
	Permissions Permissions
	// Audience is Everybody unless set.
	Audience Audience
	// Access is ReadWrite unless set. ReadOnly makes the superblock read-only,
	// not only the mount: see [OpensUnasked].
	Access mapping.Access
}

// MountDetached opens /dev/fuse and mounts it nowhere yet: it returns the
// device for [Tree.Serve] and the mount for [Attach]. Closing an unattached
// mount ends it. It needs root (CAP_SYS_ADMIN in the user namespace of the
// caller). The mount is nosuid and nodev.
func MountDetached(o MountOptions) (device, mount *os.File, err error) {
	if o.Source == "" {
		o.Source = "sandboxfs"
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("fs: open /dev/fuse: %w; load the fuse module and let this user open the device", err)
	}
	mnt, err := mountFD(fd, o)
	if err != nil {
		unix.Close(fd)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), "/dev/fuse"), os.NewFile(uintptr(mnt), "mount"), nil
}

func mountFD(device int, o MountOptions) (int, error) {
	ctx, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fs: fsopen fuse: %w; mounting needs root", err)
	}
	defer unix.Close(ctx)
	settings := [][2]string{
		{"source", o.Source}, {"subtype", "sandboxfs"}, {"fd", strconv.Itoa(device)}, {"rootmode", "40000"},
		{"user_id", strconv.Itoa(os.Getuid())}, {"group_id", strconv.Itoa(os.Getgid())},
	}
	for _, s := range settings {
		if err := unix.FsconfigSetString(ctx, s[0], s[1]); err != nil {
			return -1, fmt.Errorf("fs: mount setting %s: %w", s[0], err)
		}
	}
	var flags []string
	if o.Audience == Everybody {
		flags = append(flags, "allow_other")
	}
	if o.Permissions == KernelChecks {
		flags = append(flags, "default_permissions")
	}
	attributes := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if o.Access == mapping.ReadOnly {
		flags = append(flags, "ro")
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	for _, f := range flags {
		if err := unix.FsconfigSetFlag(ctx, f); err != nil {
			return -1, fmt.Errorf("fs: mount setting %s: %w", f, err)
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, fmt.Errorf("fs: creating the mount: %w; mounting needs root", err)
	}
	mnt, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return -1, fmt.Errorf("fs: fsmount: %w", err)
	}
	return mnt, nil
}

// Attach puts a detached mount at a directory.
func Attach(mount *os.File, target string) error {
	raw, err := mount.SyscallConn()
	if err != nil {
		return fmt.Errorf("fs: attach: %w", err)
	}
	cerr := raw.Control(func(fd uintptr) {
		err = unix.MoveMount(int(fd), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	})
	if err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("fs: attaching the mount: %w; the target must be a directory", err)
	}
	return nil
}

// Unmount detaches what is mounted at a directory, at once and also while it
// is busy; the mount ends with its last user.
func Unmount(target string) error {
	if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("fs: unmounting: %w", err)
	}
	return nil
}
