package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// InstallThread puts the filter on the calling thread; threads and processes
// that it makes later inherit it, threads that exist do not get it. The caller
// holds the thread ([runtime.LockOSThread]) and has set no_new_privs on it. A
// filter cannot be taken off again.
func InstallThread(filter []bpf.RawInstruction) error { return install(filter, 0) }

// InstallProcess puts the filter on all threads of the process at once
// (SECCOMP_FILTER_FLAG_TSYNC). The calling thread must have set no_new_privs.
// It fails, changing nothing, when some thread already has a different filter.
func InstallProcess(filter []bpf.RawInstruction) error {
	return install(filter, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

func install(filter []bpf.RawInstruction, flags uintptr) error {
	if len(filter) == 0 {
		return fmt.Errorf("install the system-call filter: it is empty")
	}
	prog := make([]unix.SockFilter, len(filter))
	for i, ins := range filter {
		prog[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return fmt.Errorf("seccomp(SECCOMP_SET_MODE_FILTER): %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("seccomp(SECCOMP_SET_MODE_FILTER): thread %d has another filter", tid)
	}
	return nil
}
