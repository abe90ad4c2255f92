package mounter

import (
	"errors"
	"os"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// detach unmounts what is mounted at a real path, the topmost. The path is
// looked up without a request to what is mounted there. A mount in use is of
// kind conflict.
func detach(point string, how provider.UnmountMode) error {
	if os.Geteuid() != 0 {
		program, err := findHelper()
		if err != nil {
			return err
		}
		args := []string{"-u"}
		if how == provider.UnmountLazy {
			args = append(args, "-z")
		}
		return runHelper(program, append(args, "--", point))
	}
	flags := unix.UMOUNT_NOFOLLOW
	if how == provider.UnmountLazy {
		flags |= unix.MNT_DETACH
	}
	err := unix.Unmount(point, flags)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EBUSY):
		return &provider.Error{Kind: provider.Conflict, Reason: "the mount is in use", Err: err}
	default:
		return &provider.Error{Kind: provider.Denied, Reason: "the kernel refuses to unmount: " + cause(err), Err: err}
	}
}

// detachDead takes a mount out of sight whose server is gone. As root it also
// ends the connection: a request that nobody had read when the server was killed
// would wait for an answer for ever (MNT_FORCE, umount2(2)).
func detachDead(point string) error {
	if os.Geteuid() == 0 && unix.Unmount(point, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH|unix.MNT_FORCE) == nil {
		return nil
	}
	return detach(point, provider.UnmountLazy)
}
