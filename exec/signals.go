package exec

import (
	"os"
	"os/signal"
	"syscall"
)

// CatchSignals makes the process survive every signal that a process of the
// same user can send and that can be caught: each gets a handler that does
// nothing. It is called by slots, and by a guest's main before anything
// untrusted runs; it lasts as long as the process.
//
// Handlers and not SIG_IGN: an ignored signal stays ignored in every program
// that is executed later, and then `kill %1` does nothing. A handler is reset
// by execve. Left out are the signals that Go's runtime uses itself and that do
// no harm (SIGCHLD, SIGURG, SIGPROF).
func CatchSignals() {
	var all []os.Signal
	for n := syscall.Signal(1); n <= 64; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF:
		default:
			all = append(all, n)
		}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, all...)
	go func() {
		for range c { // emptied so that the runtime's queue never fills
		}
	}()
}
