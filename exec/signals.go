package exec

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resetIgnored gives the signals that Go's runtime leaves as it found them
// their default back, where whoever started the sandbox ignored them: what is
// ignored stays ignored in every command.
func resetIgnored() {
	var action [4]uint64 // struct sigaction of the kernel; all zero is SIG_DFL
	const sigsetSize = 8
	for n := uintptr(32); n <= 64; n++ {
		action[0] = 0
		unix.Syscall6(unix.SYS_RT_SIGACTION, n, 0, uintptr(unsafe.Pointer(&action)), sigsetSize, 0, 0)
		if action[0] == sigIgn {
			action = [4]uint64{}
			unix.Syscall6(unix.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(&action)), 0, sigsetSize, 0, 0)
		}
	}
}

const sigIgn = 1

// CatchSignals makes the process survive every signal that a process of the
// same user can send and that can be caught: each gets a handler that does
// nothing. It is called by slots, and by a guest's main before anything
// untrusted runs; it lasts as long as the process.
//
// Handlers and not SIG_IGN: an ignored signal stays ignored in every program
// that is executed later, and then `kill %1` does nothing. A handler is reset
// by execve.
func CatchSignals() {
	resetIgnored()
	c := make(chan os.Signal, 1)
	signal.Notify(c, caught[:]...)
	go func() {
		for range c { // emptied so that the runtime's queue never fills
		}
	}()
}

// caught are the signals that end or stop a Go program which does not ask for
// them, and those that it leaves as it found them. All others have a handler
// from its start that does nothing (documentation of package os/signal).
// Asking for one costs two switches of threads, so a slot, which is started in
// the way of a command, asks for no more than these.
var caught = [...]os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE,
	unix.SIGSEGV, unix.SIGPIPE, unix.SIGTERM, unix.SIGSTKFLT, unix.SIGSYS,
	unix.SIGCONT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
}
