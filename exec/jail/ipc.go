package jail

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// System V objects outlive the process that made them, and no resource limit
// counts them. Their bounds are kernel settings of the IPC namespace, which
// belong to the host's uid 0 where the namespace has none of its own: so the
// host half sets them, from a thread that enters the namespace and ends.

// errIPCPlace says that a thread is not where it should be.
var errIPCPlace = errors.New("the thread is still in the host's IPC namespace")

// ipcSetting is one file of /proc/sys/kernel.
type ipcSetting struct{ name, value string }

// ipcSettings bound the memory of segments, together, to that of the scratch
// directories, and queues and semaphores to some mebibytes of the kernel's.
func ipcSettings(tmpBytes int64) []ipcSetting {
	page := int64(os.Getpagesize())
	return []ipcSetting{
		{"shmmax", strconv.FormatInt(tmpBytes, 10)},
		{"shmall", strconv.FormatInt(max(1, tmpBytes/page), 10)},
		{"shmmni", "512"},
		{"msgmni", "256"},
		{"sem", "1024 32768 512 512"}, // per set, in all, per call, sets
	}
}

// boundIPC sets the bounds in pid 1's namespace and says how that went.
func boundIPC(pid int, tmpBytes int64) string {
	if os.Geteuid() != 0 {
		return "unbounded: only root can set a bound"
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		result <- setIPC(pid, ipcSettings(tmpBytes))
	}()
	if err := <-result; err != nil {
		return fmt.Sprintf("unbounded: %v", cause(err))
	}
	return fmt.Sprintf("%d bytes of shared memory", tmpBytes)
}

func setIPC(pid int, settings []ipcSetting) error {
	const self = "/proc/thread-self/ns/ipc"
	var before, after unix.Stat_t
	if err := unix.Stat(self, &before); err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWIPC); err != nil {
		return err
	}
	if err := unix.Stat(self, &after); err != nil {
		return err
	}
	if before.Dev == after.Dev && before.Ino == after.Ino {
		return errIPCPlace
	}
	for _, s := range settings {
		if err := writeProc("/proc/sys/kernel/"+s.name, s.value); err != nil {
			return err
		}
	}
	return nil
}
