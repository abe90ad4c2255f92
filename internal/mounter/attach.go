// Runs in the process that serves the mount.

package mounter

import (
	"errors"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// attach mounts the tree and begins to serve it.
func (s *server) attach(spec Spec, tree *fs.Tree, lock *os.File) error {
	if err := checkDevice(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return s.attachByHelper(spec, tree, lock)
	}
	o := fs.MountOptions{Audience: fs.MounterOnly}
	if spec.Audience == Everybody || spec.Audience == Container {
		o.Audience = fs.Everybody
	}
	if spec.Audience == Container {
		o.Permissions = fs.ServerChecks
	}
	device, mnt, err := fs.MountDetached(o)
	if err != nil {
		return &provider.Error{Kind: provider.Denied, Reason: "the kernel refuses to mount: " + cause(err),
			Next: "mounting needs CAP_SYS_ADMIN, which a container does not have unless it is given it", Err: err}
	}
	defer mnt.Close()
	// The directory that was checked, whatever its path leads to by now.
	point, err := openPoint(spec.Point)
	if err != nil {
		device.Close()
		return err
	}
	defer point.Close()
	if s.server, err = tree.Serve(device); err != nil {
		return err
	}
	err = unix.MoveMount(int(mnt.Fd()), "", int(point.Fd()), "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return &provider.Error{Kind: provider.Denied, Reason: "the mount cannot be attached there: " + cause(err), Err: err}
	}
	s.attached = true
	return nil
}

func (s *server) attachByHelper(spec Spec, tree *fs.Tree, lock *os.File) error {
	options := []string{"fsname=sandboxfs", "subtype=sandboxfs", "default_permissions", "nosuid", "nodev"}
	if spec.Audience == Everybody {
		options = append(options, "allow_other")
	}
	device, err := mountByHelper(spec.Point, strings.Join(options, ","), lock)
	if err != nil {
		return err
	}
	s.attached = true
	s.server, err = tree.Serve(device)
	return err
}

// checkDevice says what is wrong with /dev/fuse before somebody else does, in
// words that help less.
func checkDevice() error {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		return unix.Close(fd)
	}
	e := &provider.Error{Kind: provider.Unavailable, Reason: "/dev/fuse cannot be opened: " + cause(err), Err: err}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		e.Next = "load the kernel module (as root: modprobe fuse); in a container, give it the device /dev/fuse"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Next = "let this user open it (as root: chmod 0666 /dev/fuse)"
	}
	return e
}

// cause is the errno's text, without what the layers between say.
func cause(err error) string {
	var no unix.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}
