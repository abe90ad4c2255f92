package exec

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// StartEarly starts the process of a slot for an [Executor] that the program
// will have only after it has executed itself again: both then start at the
// same time. It returns the process's number and the socket to it, for
// [Config.Early]; nothing is waited for. The process is the calling thread's
// child, with its privileges, and ends when the socket is closed.
//
// It is an attempt: where it fails, the executor makes its first slot itself
// and says what stands in the way.
func StartEarly(cfg Config) (pid int, socket *os.File, err error) {
	ours, theirs, err := slotSockets()
	if err != nil {
		return 0, nil, err
	}
	defer unix.Close(theirs)
	pid, err = forkSlot(cfg.withDefaults(), formNamespace, theirs)
	if err != nil {
		ours.Close()
		return 0, nil, err
	}
	return pid, ours, nil
}

// Early is what StartEarly has started, in the hands of the process that it was
// started for.
type Early struct {
	Pid    int
	Socket *os.File // taken over, also on failure
}

// adopt makes the early slot one of this executor's.
func (e *Executor) adopt(ctx context.Context, early *Early) (*slotHandle, error) {
	s, err := e.newHandle(early.Socket)
	if err != nil {
		return nil, err
	}
	// It was born with what this process had before ownBounds.
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &own) == nil {
		_ = unix.Prlimit(early.Pid, unix.RLIMIT_NPROC, &own, nil) // it has ended, which is seen below
	}
	e.file(s, func() (int, error) { return early.Pid, nil })
	e.reaper.look() // its end may have come before anybody asked for the signal
	return s.begin(ctx)
}
