package exec

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper waits for the slots. One goroutine, woken by SIGCHLD, serves them all;
// a blocked thread for each would cost more. It reaps only children that it
// knows: others belong to whoever started them, except when it adopts.
type reaper struct {
	mu    sync.Mutex // held over fork, kill and wait, so that no number is stale
	slots map[int]*slotHandle
	// adopt says that a dead slot's commands come to this process (there are
	// no namespaces): every child that is no slot is then killed.
	adopt bool

	wake chan os.Signal
	quit chan struct{}
	done chan struct{}
}

func newReaper() *reaper {
	r := &reaper{
		slots: map[int]*slotHandle{},
		wake:  make(chan os.Signal, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	signal.Notify(r.wake, unix.SIGCHLD)
	go func() {
		defer close(r.done)
		for {
			select {
			case <-r.wake:
				r.reap()
			case <-r.quit:
				return
			}
		}
	}()
	return r
}

// adoptOrphans makes the end of a slot the end of what it leaves behind. Slots
// may have ended before, while the form was being chosen.
func (r *reaper) adoptOrphans() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adopt = true
}

// look has the slots looked at as if one had ended.
func (r *reaper) look() {
	select {
	case r.wake <- unix.SIGCHLD:
	default: // about to be
	}
}

func (r *reaper) stop() {
	signal.Stop(r.wake)
	close(r.quit)
	<-r.done
}

// fork runs the fork and files the child under its handle before anybody can
// reap it.
func (r *reaper) fork(s *slotHandle, fork func() (int, error)) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err == nil {
		r.slots[pid] = s
		s.pid = pid
	}
	return pid, err
}

// kill kills a slot that is not reaped yet.
func (r *reaper) kill(s *slotHandle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.pid != 0 && r.slots[s.pid] == s {
		unix.Kill(s.pid, unix.SIGKILL)
	}
}

// reap collects the slots that have ended. A stopped one is killed: nothing
// stops a slot but a hostile command.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gone []*slotHandle
	for pid, s := range r.slots {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(pid, &ws, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err == nil && got == pid && ws.Stopped():
			unix.Kill(pid, unix.SIGKILL)
		case err == nil && got == 0, err == syscall.EINTR:
		default:
			delete(r.slots, pid)
			gone = append(gone, s)
		}
	}
	if len(gone) > 0 && r.adopt {
		t := newSubtree()
		t.spare = func(pid int) bool { _, ours := r.slots[pid]; return ours }
		t.sweep()
	}
	for _, s := range gone {
		close(s.gone)
	}
}

// becomeSubreaper makes the orphans of a dead slot come to this process.
func becomeSubreaper() error {
	if os.Getpid() == 1 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
}
