package fs

import "golang.org/x/sys/unix"

// Asking the host, at every open(2), whether the names on the way to a node
// still lead there is a statx(2) for each of them: a quarter of the time of
// the whole request. Where each of these directories is watched, one question
// is enough: has anything happened to any name since they were asked for? The
// host's kernel queues an event before the call that changed a name returns,
// so an empty queue is as good an answer as the names themselves.

// stamp is a moment in the life of the names that the tree knows: it is
// another one after each event about a name, each name that the tree records
// elsewhere, and each watch that ends.
type stamp uint64

// stampLocked is the present one, 0 while nothing is watched. The caller holds
// mu.
func (h *watcher) stampLocked() stamp {
	if h.fd < 0 {
		return 0
	}
	return stamp(h.disturbed + h.t.moves.Load() + 1)
}

// undisturbed reports whether the names that lead to a node are known to be
// right. If they are not, what it returns is for settled, after they have been
// asked for.
func (h *watcher) undisturbed(n *node) (now stamp, sure bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now = h.stampLocked()
	if now == 0 || stamp(n.sure.Load()) != now {
		return now, false
	}
	pending, err := unix.IoctlGetInt(h.fd, unix.TIOCINQ) // FIONREAD
	return now, err == nil && pending == 0
}

// settled records that all names that lead to a node were right at a time
// after then was taken, if that is worth something: all their directories have
// been watched since before.
func (h *watcher) settled(n *node, then stamp) {
	if then == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stampLocked() != then {
		return
	}
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	level := 0
	for x := n; !x.permanent; x = x.parent {
		if level++; x.parent == nil || x.parent.watch == nil || x.parent.watch.gone || level > maxAncestors {
			return
		}
	}
	n.sure.Store(uint64(then))
}

// placeLocked records where a node is seen now; nil: nowhere. The caller holds
// t.mu.
func (t *Tree) placeLocked(n, parent *node, name string) {
	if n.parent != nil && (n.parent != parent || n.name != name) {
		t.moves.Add(1)
	}
	n.parent, n.name = parent, name
}
