package fs

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// settling are nodes whose contents the kernel has taken so soon after a
// change that another one might not show in the times. When the host's clock
// has gone on, the kernel is told to take them anew.
type settling struct {
	mu    sync.Mutex
	since map[uint64]time.Time
	timer *time.Timer
	// tell drops what the kernel holds of a node. It is set once, before the
	// first request.
	tell func(id uint64)
}

// add puts a node in.
func (s *settling) add(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[uint64]time.Time{}
	}
	if len(s.since) < maxNotices {
		s.since[id] = time.Now()
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(clockGrain, s.look)
	}
}

// look tells of those whose time has come.
func (s *settling) look() {
	s.mu.Lock()
	var due []uint64
	for id, since := range s.since {
		if time.Since(since) >= clockGrain {
			due = append(due, id)
			delete(s.since, id)
		}
	}
	s.timer = nil
	if len(s.since) > 0 {
		s.timer = time.AfterFunc(clockGrain, s.look)
	}
	s.mu.Unlock()
	for _, id := range due {
		s.tell(id)
	}
}

// stop forgets all of them.
func (s *settling) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.since = nil
}

// settle notes that the kernel takes contents or names of a node.
func (t *Tree) settle(n *node) {
	n.open.Lock()
	recent := recent(&n.fresh.ctime)
	n.open.Unlock()
	if recent {
		t.settling.add(n.id)
	}
}

// recent reports whether a change at this time may be followed by one with
// the same time.
func recent(at *unix.StatxTimestamp) bool {
	return time.Since(time.Unix(at.Sec, int64(at.Nsec))) < clockGrain
}

// shown notes which attributes of a node the kernel is told, with
// [OpensUnasked]. Where a change does not show in what the kernel compares, it
// is told to drop what it holds.
func (t *Tree) shown(n *node, st *unix.Statx_t) {
	if !t.unasked() {
		return
	}
	now := versionOf(st)
	n.open.Lock()
	was := n.fresh
	n.fresh = now
	n.open.Unlock()
	if was != (version{}) && was.ctime != now.ctime && was.mtime == now.mtime && was.size == now.size {
		t.settling.tell(n.id)
	}
}
