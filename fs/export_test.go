package fs

import (
	"time"

	"golang.org/x/sys/unix"
)

// DropName tells the client's kernel to drop a name in a region's root, and
// what it keeps of the file that the name led to.
func (s *Server) DropName(region, name string) bool {
	root := s.tree.roots[region]
	var st unix.Statx_t
	ok := s.connection.notify.entry(root.id, name)
	s.tree.mu.Lock()
	fd := root.fd // -1 when the mount has ended
	s.tree.mu.Unlock()
	if statName(fd, name, &st) == 0 {
		s.tree.mu.Lock()
		n := s.tree.findLocked(root.domain, &st)
		s.tree.mu.Unlock()
		if n != nil {
			ok = s.connection.notify.inode(n.id, -1, 0) && s.connection.notify.deleted(root.id, n.id, name) && ok
		}
	}
	return ok
}

// SetWatchLimits changes what a tree may watch, before it is served; 0 leaves
// a limit. With withhold there are no inotify instances.
func (t *Tree) SetWatchLimits(watches, names int, lease time.Duration, withhold bool) {
	l := &t.watcher.limits
	if watches > 0 {
		l.watches = watches
	}
	if names > 0 {
		l.names = names
	}
	if lease > 0 {
		l.lease, l.slack = lease, lease
	}
	if withhold {
		l.open = func() (int, error) { return -1, unix.EMFILE }
	}
}

// Settled returns a function that reports whether all that had happened on the
// host when Settled was called has been compared and told.
func (s *Server) Settled() func() bool {
	h := s.tree.watcher
	h.mu.Lock()
	defer h.mu.Unlock()
	begin := h.round
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.fd < 0 || h.round >= begin+2 && h.calm
	}
}
