package fs

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// iocClone is FUSE_DEV_IOC_CLONE of Linux include/uapi/linux/fuse.h.
const iocClone = 0x8004e500

// cloneDevice opens the fuse device once more for a connection. A request
// belongs to the device through which it was read.
func cloneDevice(fd int) (int, error) {
	clone, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("fs: opening the fuse device again: %w", err)
	}
	from := uint32(fd)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(clone), iocClone, uintptr(unsafe.Pointer(&from))); e != 0 {
		unix.Close(clone)
		return -1, fmt.Errorf("fs: joining the connection with another device: %w", e)
	}
	return clone, nil
}

// apart runs f on a thread whose only descriptor is fd, which no other thread
// of the process has when apart returns; f closes it. The thread ends with f.
// On an error f is not run and fd is as it was.
//
// When the process is killed, the kernel closes what its threads share as soon
// as all of them have ended. A thread that waits in the kernel for something
// that only the closing brings about must not hold it up.
func apart(fd int, f func()) error {
	failed := make(chan error, 1)
	var begin func()
	begin = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first thread does not end, and /proc shows its descriptors
			again := make(chan struct{})
			go func() { begin(); close(again) }()
			<-again
			runtime.UnlockOSThread()
			return
		}
		err := unix.Unshare(unix.CLONE_FILES)
		if err != nil {
			runtime.UnlockOSThread()
			failed <- fmt.Errorf("fs: taking a thread's descriptors apart: %w", err)
			return
		}
		if fd > 0 {
			unix.CloseRange(0, uint(fd-1), 0)
		}
		unix.CloseRange(uint(fd+1), math.MaxUint32, 0)
		failed <- nil
		f() // the thread ends with its goroutine, since that does not unlock it
	}
	go begin()
	if err := <-failed; err != nil {
		return err
	}
	unix.Close(fd)
	return nil
}
