package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lockDown gives up all that pid 1 does not need to run and end commands.
func lockDown(w *world) error {
	if err := setLimits(w); err != nil {
		return err
	}
	if !w.OwnUserNS {
		// As root in tier Host: the caller's rights are the point.
		w.Isolation["caps"] = "the caller's"
		return nil
	}
	return dropCaps(w)
}

// dropCaps leaves CAP_SYS_ADMIN of our own user namespace: permitted,
// effective and inheritable. It is what slots need to make pid namespaces and
// mount /proc. The bounding set is emptied here, once for all: whoever clears
// the rest of its sets cannot fill them again.
func dropCaps(w *world) error {
	all := everyThread
	w.Isolation["caps"] = "sys_admin of its own user namespace, pid 1 and slots only"
	if err := all(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errors.Is(err, syscall.ENOTSUP) {
		// Built with cgo, as the race detector needs: threads are not the
		// runtime's alone, and only this one can be changed.
		runtime.LockOSThread()
		all = thisThread
		w.Isolation["caps"] = "dropped on one thread only (built with cgo)"
		err = all(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
		if err != nil {
			return failed("prctl(PR_SET_NO_NEW_PRIVS)", err)
		}
	} else if err != nil {
		return failed("prctl(PR_SET_NO_NEW_PRIVS)", err)
	}
	for c := uintptr(0); c <= 63; c++ {
		in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last one this kernel has
		}
		if err != nil {
			return failed("prctl(PR_CAPBSET_READ)", err)
		}
		if in == 0 {
			continue
		}
		if err := all(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); err != nil {
			return failed("prctl(PR_CAPBSET_DROP)", err)
		}
	}
	if err := all(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil {
		return failed("prctl(PR_CAP_AMBIENT)", err)
	}
	const keep = 1 << unix.CAP_SYS_ADMIN
	hdr := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := &[2]unix.CapUserData{{Effective: keep, Permitted: keep, Inheritable: keep}}
	err := all(unix.SYS_CAPSET, uintptr(unsafe.Pointer(hdr)), uintptr(unsafe.Pointer(data)), 0)
	runtime.KeepAlive(hdr)
	runtime.KeepAlive(data)
	if err != nil {
		return failed("capset", err)
	}
	return nil
}

func everyThread(trap, a, b, c uintptr) error {
	if _, _, e := syscall.AllThreadsSyscall(trap, a, b, c); e != 0 {
		return e
	}
	return nil
}

func thisThread(trap, a, b, c uintptr) error {
	if _, _, e := syscall.RawSyscall6(trap, a, b, c, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// limit is one resource limit; the hard one is never raised.
type limit struct {
	resource   int
	soft, hard uint64
}

// setLimits sets the resource limits that every process here inherits. They
// are the only ones where no cgroup could be had.
func setLimits(w *world) error {
	limits := []limit{{unix.RLIMIT_CORE, 0, 0}}
	if w.Tier == Isolated {
		limits = append(limits,
			limit{unix.RLIMIT_NOFILE, 1024, 4096},
			limit{unix.RLIMIT_MEMLOCK, 8 << 20, 8 << 20},
			limit{unix.RLIMIT_FSIZE, unix.RLIM_INFINITY, unix.RLIM_INFINITY},
		)
	}
	if w.Pids > 0 && w.OwnUserNS {
		// Counted for this user namespace alone.
		limits = append(limits, limit{unix.RLIMIT_NPROC, uint64(w.Pids), uint64(w.Pids)})
	}
	if w.DataBytes > 0 && w.OwnUserNS {
		limits = append(limits, limit{unix.RLIMIT_DATA, uint64(w.DataBytes), uint64(w.DataBytes)})
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
