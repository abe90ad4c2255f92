package guest

import "sync"

// window counts how much stdin the guest still takes. One goroutine waits
// and takes, another grants.
type window struct {
	mu     sync.Mutex
	more   *sync.Cond
	size   int64 // the greatest room there can be
	room   int64
	closed bool
}

func newWindow(size int64) *window {
	w := &window{size: size, room: size}
	w.more = sync.NewCond(&w.mu)
	return w
}

// wait returns how much may be sent, at most so much; 0 means never again.
func (w *window) wait(most int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.room == 0 && !w.closed {
		w.more.Wait()
	}
	if w.closed {
		return 0
	}
	return min(w.room, most)
}

func (w *window) take(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = max(w.room-n, 0)
}

// grant makes room; a guest that grants more than it took is not believed.
func (w *window) grant(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = min(w.room+n, w.size)
	w.more.Signal()
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Signal()
}
