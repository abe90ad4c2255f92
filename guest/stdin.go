package guest

import "sync"

// stdinQueue holds stdin between the connection and the command: at most
// stdinWindow bytes, so that whoever reads the connection never waits.
type stdinQueue struct {
	mu      sync.Mutex
	more    *sync.Cond
	pending []byte // guarded by mu; what the command did not get yet
	taken   int    // guarded by mu; handed to the writer, not yet granted again
	spare   []byte
	eof     bool
	closed  bool
	open    bool
}

// newStdinQueue makes a queue; one that is not open drops everything.
func newStdinQueue(open bool) *stdinQueue {
	q := &stdinQueue{open: open}
	q.more = sync.NewCond(&q.mu)
	return q
}

// add takes a copy of the data; false means that the window was overrun.
func (q *stdinQueue) add(data []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open || q.eof || q.closed {
		return true
	}
	if len(q.pending)+q.taken+len(data) > stdinWindow {
		return false
	}
	q.pending = append(q.pending, data...)
	q.more.Signal()
	return true
}

// end says that no more will come.
func (q *stdinQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.eof = true
	q.more.Signal()
}

// close drops what is left and lets the writer go.
func (q *stdinQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.pending = true, nil
	q.more.Signal()
}

// delivered makes room for as much as next returned last.
func (q *stdinQueue) delivered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = 0
}

// next waits for data, or for the end. The data is valid until the next
// call.
func (q *stdinQueue) next() (data []byte, eof bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pending) == 0 && !q.eof && !q.closed {
		q.more.Wait()
	}
	if q.closed || len(q.pending) == 0 {
		return nil, true
	}
	data = q.pending
	q.pending, q.spare = q.spare[:0], data
	q.taken = len(data)
	return data, false
}
