package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"os"

	"golang.org/x/sys/unix"
)

// build makes the world that the processes of the sandbox see.
func build(w *world, mounts []*os.File) error {
	if w.Tier == Host {
		return buildHost(w, mounts)
	}
	return buildIsolated(w, mounts)
}

// buildIsolated makes a new root of a small tmpfs and goes into it. The order
// matters: /proc can be mounted only while the old, complete one is in sight,
// and the host's paths are in reach only until the old root is detached.
func buildIsolated(w *world, mounts []*os.File) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed(opPrivate, err)
	}
	staging, err := newFS("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV,
		option{"size", "16m"}, option{"nr_inodes", "4096"}, option{"mode", "755"})
	if err != nil {
		return failed("mount the root tmpfs", err)
	}
	defer staging.Close()
	root := int(staging.Fd())
	// On top of the old root: a place that is always there. Paths still begin
	// at the old root, below it.
	if err := unix.MoveMount(root, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failed("attach the root tmpfs", err)
	}
	for _, step := range []func(*world, int) error{
		buildSystem, buildEtc, buildDev, buildScratch, buildProc,
	} {
		if err := step(w, root); err != nil {
			return err
		}
	}
	if err := attachTree(w, root, mounts); err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	return settings(w)
}

// pivot makes the staging tmpfs the root of every process here and lets go of
// the old one.
func pivot(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return failed("fchdir to the new root", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return failed("pivot_root", err)
	}
	// The old root now lies on top of the new one.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return failed("detach the old root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return failed("chdir to the new root", err)
	}
	err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return failed("make the root read-only", err)
	}
	return nil
}

// settings are what a complete world still needs of the kernel.
func settings(w *world) error {
	// No further user namespaces: they would give commands capabilities, and
	// with them the whole of the kernel's mount and network code.
	if err := writeProc("/proc/sys/user/max_user_namespaces", "0"); err != nil {
		return failed(opMaxUser, err)
	}
	if err := unix.Sethostname([]byte(w.Hostname)); err != nil {
		return failed("sethostname", err)
	}
	return network(w)
}

// network switches the loopback interface of a private network on.
func network(w *world) error {
	if w.Net != NetNone {
		return nil
	}
	if err := loopbackUp(); err != nil {
		return failed("switch the loopback interface on", err)
	}
	return nil
}

func writeProc(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	f.Close()
	return err
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
