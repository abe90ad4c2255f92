package doctor

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"golang.org/x/sys/unix"
)

const fuseDevice = "/dev/fuse"

func checkFuseDevice(m *machine) Finding {
	fd, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(jail.OpOpenFuse+": "+err.Error(), noSandbox, jail.Cure(jail.OpOpenFuse, err))
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail("stat "+fuseDevice+": "+err.Error(), noSandbox, "")
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return fail(fuseDevice+" is no device", noSandbox, "make it anew, as root: 'rm /dev/fuse; mknod -m 0666 /dev/fuse c 10 229'")
	}
	detail := fmt.Sprintf("%s can be opened, mode %04o", fuseDevice, st.Mode&0o7777)
	if m.root() && st.Mode&0o006 != 0o006 {
		return warn(detail, "the sandboxes of ordinary users", jail.Cure(jail.OpOpenFuse, unix.EACCES))
	}
	return ok(detail)
}

func checkFuseMount(*machine) Finding {
	if a := inside(probeFuse); !a.ok() {
		return refused(a)
	}
	return ok("a tree can be mounted inside new namespaces")
}

// fuseMount is an open device and a mount of it that is attached nowhere.
type fuseMount struct{ device, mount int }

func (f fuseMount) close() {
	unix.Close(f.mount)
	unix.Close(f.device)
}

// openAndMount makes a mount for the FUSE device as a sandbox has it, attached
// nowhere: it ends with its descriptors. It returns the call that failed.
func openAndMount() (fuseMount, string, error) {
	device, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fuseMount{}, jail.OpOpenFuse, err
	}
	mount, op, err := mountFuse(device)
	if err != nil {
		unix.Close(device)
		return fuseMount{}, op, err
	}
	return fuseMount{device, mount}, "", nil
}

func mountFuse(device int) (int, string, error) {
	ctx, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, jail.OpFsopen, err
	}
	defer unix.Close(ctx)
	for _, o := range [][2]string{
		{"source", "sandboxfs-doctor"}, {"fd", strconv.Itoa(device)}, {"rootmode", "40000"}, {"user_id", "0"}, {"group_id", "0"},
	} {
		if err := unix.FsconfigSetString(ctx, o[0], o[1]); err != nil {
			return -1, "fsconfig(fuse, " + o[0] + ")", err
		}
	}
	for _, flag := range []string{"allow_other", "default_permissions"} {
		if err := unix.FsconfigSetFlag(ctx, flag); err != nil {
			return -1, "fsconfig(fuse, " + flag + ")", err
		}
	}
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, "fsconfig(fuse, create)", err
	}
	mount, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, "fsmount(fuse)", err
	}
	return mount, "", nil
}

// isErr reports whether an error is one of these.
func isErr(err error, errs ...error) bool {
	for _, e := range errs {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
