package guest

import (
	"context"
	"sync"
	"time"
)

// activity knows whether the guest has something to do, and decides, once
// and for all, that it takes no more.
type activity struct {
	now func() time.Time
	// jobs counts the background jobs of sessions, which are something to do.
	jobs func() int

	mu       sync.Mutex
	busy     int // calls under way, commands among them
	commands int
	last     time.Time // when it was last busy
	draining bool
	changed  chan struct{} // closed and replaced whenever busy becomes 0

	ended    chan struct{} // closed when a client stopped the guest
	closed   chan struct{} // closed when nobody watches any more
	endOnce  sync.Once
	closeOne sync.Once
}

func newActivity(now func() time.Time) *activity {
	return &activity{now: now, jobs: func() int { return 0 }, last: now(), changed: make(chan struct{}), ended: make(chan struct{}), closed: make(chan struct{})}
}

// enter begins a call; ok is false when the guest is ending.
func (a *activity) enter() (leave func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		return nil, false
	}
	a.busy++
	return a.leave, true
}

func (a *activity) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = a.now()
	if a.busy--; a.busy == 0 {
		close(a.changed)
		a.changed = make(chan struct{})
	}
}

// command counts a running command, which is part of a call.
func (a *activity) command() (ended func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.commands++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.commands--
	}
}

// look returns the numbers of now.
func (a *activity) look() (busy, commands int, idle time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy == 0 {
		idle = a.now().Sub(a.last)
	}
	return a.busy, a.commands, idle
}

// drain takes no more calls.
func (a *activity) drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.draining = true
}

// drainIfIdle takes no more calls if there is none and no job lives, and says
// whether so, or how many there are.
func (a *activity) drainIfIdle(atLeast time.Duration) (idle bool, busy int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy > 0 || a.now().Sub(a.last) < atLeast {
		return false, a.busy
	}
	// Counted under the lock: no command can begin meanwhile and leave one.
	if n := a.jobs(); n > 0 {
		a.last = a.now()
		return false, n
	}
	a.draining = true
	return true, 0
}

// end makes Serve return.
func (a *activity) end() { a.endOnce.Do(func() { close(a.ended) }) }

// close lets go of whoever waits in idle.
func (a *activity) close() { a.closeOne.Do(func() { close(a.closed) }) }

// idle returns a channel that is closed when there was nothing to do for so
// long; from then on no call is taken. 0 means never.
func (a *activity) idle(limit time.Duration) <-chan struct{} {
	if limit <= 0 {
		return nil
	}
	out := make(chan struct{})
	go func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-a.closed:
				return
			}
			if ok, _ := a.drainIfIdle(limit); ok {
				close(out)
				return
			}
			busy, _, idle := a.look()
			if busy > 0 {
				timer.Reset(limit)
			} else {
				timer.Reset(max(limit-idle, time.Millisecond))
			}
		}
	}()
	return out
}

// wait returns when no call is under way, or when the context ends.
func (a *activity) wait(ctx context.Context) {
	for {
		a.mu.Lock()
		busy, changed := a.busy, a.changed
		a.mu.Unlock()
		if busy == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
