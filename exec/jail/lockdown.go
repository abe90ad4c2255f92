package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

// lockDown gives up all that pid 1 does not need to run and end commands. It
// works on the calling thread, which executes the program anew afterwards:
// what the other threads of the Go runtime hold ends with them. (Changing all
// threads from within takes some forty stops of the whole program, one for
// every capability, and cannot be done at all in one built with cgo.)
func lockDown(w *world) error {
	if err := setLimits(w); err != nil {
		return err
	}
	if !w.OwnUserNS {
		// As root in tier Host: the caller's rights are the point.
		w.Isolation["caps"] = "the caller's"
		return nil
	}
	w.Isolation["caps"] = "sys_admin of its own user namespace, pid 1 and slots only"
	return dropCaps()
}

// dropCaps leaves CAP_SYS_ADMIN of our own user namespace: permitted,
// effective and inheritable, and ambient so that it survives the execution.
// It is what slots need to make pid namespaces and mount /proc. The bounding
// set is emptied here, once for all: whoever clears the rest of its sets
// cannot fill them again.
func dropCaps() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failed("prctl(PR_SET_NO_NEW_PRIVS)", err)
	}
	for c := uintptr(0); c <= 63; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last one that this kernel has
		}
		if err != nil {
			return failed("prctl(PR_CAPBSET_DROP)", err)
		}
	}
	const keep = 1 << unix.CAP_SYS_ADMIN
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: keep, Permitted: keep, Inheritable: keep}}
	// The kernel takes out of the ambient set what is in neither of these.
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return failed("capset", err)
	}
	return nil
}

// rlimit is one resource limit; the hard one is never raised.
type rlimit struct {
	resource   int
	soft, hard uint64
}

// setLimits sets the resource limits that every process here inherits; the soft
// ones of the rest have been raised. They are the only ones where no cgroup
// could be had.
func setLimits(w *world) error {
	const stack = 8 << 20 // without a bound the layout of the memory is another
	limits := []rlimit{
		{unix.RLIMIT_CORE, 0, 0},
		{unix.RLIMIT_STACK, stack, unix.RLIM_INFINITY},
		{unix.RLIMIT_NOFILE, 1024, unix.RLIM_INFINITY},
	}
	if w.Tier == Isolated {
		limits = append(limits,
			rlimit{unix.RLIMIT_NOFILE, 1024, 4096},
			rlimit{unix.RLIMIT_MEMLOCK, 8 << 20, 8 << 20},
		)
	}
	if w.Pids > 0 && w.OwnUserNS {
		// Counted for this user namespace alone. The soft limit is the
		// commands', the guest takes the hard one for itself.
		limits = append(limits, rlimit{unix.RLIMIT_NPROC, uint64(w.Pids), uint64(w.Pids) + cgroup.GuestRoom})
	}
	if w.DataBytes > 0 && w.OwnUserNS {
		limits = append(limits, rlimit{unix.RLIMIT_DATA, uint64(w.DataBytes), uint64(w.DataBytes)})
	}
	for _, l := range limits {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &old); err != nil {
			return failed("getrlimit", err)
		}
		hard := min(old.Max, l.hard)
		// The standard library's call, not x/sys's: it also stops os/exec
		// from giving children the number of open files we were born with.
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: min(l.soft, hard), Max: hard}); err != nil {
			return failed("setrlimit", err)
		}
	}
	return nil
}
