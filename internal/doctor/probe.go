package doctor

// Runs in processes of their own, some in new namespaces.

import (
	"encoding/json"
	"os"
	"strconv"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"golang.org/x/sys/unix"
)

// Names of the probes.
const (
	probeNothing     = "nothing"
	probeMounts      = "mounts"
	probeProc        = "proc"
	probeFuse        = "fuse"
	probePassthrough = "passthrough"
	probeStatfs      = "statfs"
)

// probeMain runs one probe and prints its answer.
func probeMain(args []string) int {
	var a answer
	switch args[0] {
	case probeNothing:
	case probeMounts:
		a = tryMounts()
	case probeProc:
		a = tryProc()
	case probeFuse:
		a = tryFuse()
	case probePassthrough:
		a = tryPassthrough(args[1:])
	case probeStatfs:
		a = tryStatfs(args[1:])
	default:
		return 2
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return 1
	}
	return 0
}

// tryMounts makes the calls that build a sandbox's root, on a small tmpfs.
func tryMounts() answer {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failedProbe(jail.OpPrivate, err)
	}
	ctx, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return failedProbe("fsopen(tmpfs)", err)
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return failedProbe("fsconfig(tmpfs, create)", err)
	}
	mnt, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return failedProbe("fsmount(tmpfs)", err)
	}
	usr, err := unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return failedProbe("open_tree(/usr)", err)
	}
	err = unix.MountSetattr(usr, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
	if err != nil {
		return failedProbe("mount_setattr(/usr)", err)
	}
	if err := unix.MoveMount(mnt, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return failedProbe("move_mount(/)", err)
	}
	return answer{}
}

func tryProc() answer {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failedProbe(jail.OpPrivate, err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return failedProbe(jail.OpProc, err)
	}
	// The kernel numbers processes anew: this is the first of its namespace.
	if link, err := os.Readlink("/proc/self"); err != nil || link != strconv.Itoa(os.Getpid()) {
		return answer{Op: jail.OpProc, Text: "it shows other processes than those of the new namespace"}
	}
	return answer{}
}

// tryFuse makes a mount of the device that nobody serves and nobody uses.
func tryFuse() answer {
	fuse, op, err := openAndMount()
	if err != nil {
		return failedProbe(op, err)
	}
	fuse.close()
	return answer{}
}
