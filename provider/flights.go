package provider

import (
	"context"
	"sync"
)

// flights runs one piece of work per id at a time. Unlike the usual single
// flight it belongs to no caller: its context carries the values of the first
// one, and ends when the last one has given up.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

type flight struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed after err is set
	err     error
	waiting int // guarded by flights.mu
}

// do joins the work of an id, or starts it, and waits for it or for ctx.
func (f *flights) do(ctx context.Context, id string, work func(context.Context) error) error {
	fl := f.join(ctx, id, work)
	select {
	case <-fl.done:
		f.leave(id, fl)
		return fl.err
	case <-ctx.Done():
		f.leave(id, fl)
		return ctx.Err()
	}
}

func (f *flights) join(ctx context.Context, id string, work func(context.Context) error) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.running[id]; ok {
		fl.waiting++
		return fl
	}
	workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fl := &flight{cancel: cancel, done: make(chan struct{}), waiting: 1}
	if f.running == nil {
		f.running = map[string]*flight{}
	}
	f.running[id] = fl
	go func() {
		defer cancel()
		fl.err = work(workCtx)
		f.forget(id, fl)
		close(fl.done)
	}()
	return fl
}

// leave ends the work when nobody waits for it any more. A later caller starts
// anew and does not join what is being given up.
func (f *flights) leave(id string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl.waiting--
	if fl.waiting == 0 {
		fl.cancel()
		f.forgetLocked(id, fl)
	}
}

func (f *flights) forget(id string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetLocked(id, fl)
}

func (f *flights) forgetLocked(id string, fl *flight) {
	if f.running[id] == fl {
		delete(f.running, id)
	}
}
