// This file runs in a slot, after a command's main process has ended.

package exec

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sweep ends and reaps everything that the command left behind and returns how
// many processes it had to kill. It calls slow once if there is anything to
// wait for.
func (s *slot) sweep(slow func()) (killed int) {
	if s.form == formSubreaper {
		t := newSubtree()
		t.slow = slow
		return t.sweep()
	}
	for reap(syscall.WNOHANG) != 0 { // the dead do not count as left running
	}
	told := false
	// One kill(-1) reaches every process of the namespace but this one: the
	// kernel walks the process table under its lock, and fork fails where a
	// signal is pending, so nothing is born behind the walk. ESRCH says that
	// nobody was left.
	for unix.Kill(-1, unix.SIGKILL) != unix.ESRCH {
		if !told {
			told = true
			slow()
		}
		for {
			r := reap(0)
			if r == 0 {
				break
			}
			if r == reapedKilled {
				killed++
			}
		}
	}
	return killed
}

// reaped says what kind of end a reaped child had.
type reaped int

const (
	reapedOther  reaped = iota + 1
	reapedKilled        // by SIGKILL
)

// reap waits for one child; 0 means that there is none (or none ended, under
// WNOHANG).
func reap(options int) reaped {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, options, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || pid == 0:
			return 0
		case ws.Signaled() && ws.Signal() == syscall.SIGKILL:
			return reapedKilled
		default:
			return reapedOther
		}
	}
}
