package fs

import (
	"math/bits"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// lease says for how long the client's kernel may keep what a request is
// about to read of the host: [LeaseTime] where the host is watched for
// changes of it, [CacheTime] where it is not. It is made before anything is
// read, and asked after: if events were read meanwhile, a change may have
// been among them and missed what was not recorded yet, and the time is short.
// The zero lease is short.
type lease struct {
	w      *watch
	round  uint64
	serial uint64
}

// leaseNames makes one for names in a directory, of which the caller has
// acquired the descriptor.
func (h *watcher) leaseNames(dir *node, fd int) lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, _ := h.cover(dir, fd)
	return h.leaseLocked(w)
}

func (h *watcher) leaseLocked(w *watch) lease {
	h.serial++
	return lease{w, h.round, h.serial}
}

// leaseNode makes one for the attributes of a node. A directory is watched
// itself. Anything else must have been found by a name that is watched.
func (h *watcher) leaseNode(n *node, fd int) lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.ident.kind == unix.S_IFDIR {
		h.cover(n, fd)
		return h.leaseLocked(nil)
	}
	return h.leaseLocked(h.namedLocked(n))
}

// includeNode adds the attributes of a directory to a lease by which it was
// found, and reports whether they have to be read again for that, since it was
// not watched before.
func (h *watcher) includeNode(l *lease, n *node, fd int) (again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, again = h.cover(n, fd); again {
		h.serial++
		l.serial = h.serial
		if l.w == nil {
			l.round = h.round
		}
	}
	return again
}

// watching reports whether a directory is watched.
func (h *watcher) watching(n *node) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return n.watch != nil && !h.full
}

// namedLocked returns the watch under which a node's present name is recorded.
func (h *watcher) namedLocked(n *node) *watch {
	at := h.t.placeOf(n)
	if at.parent == nil || at.parent.watch == nil || at.parent.watch.names[at.name] != n {
		return nil
	}
	return at.parent.watch
}

// valid reports whether nothing has happened since a lease was made that
// could make it wrong. The caller holds mu.
func (h *watcher) valid(l lease) bool { return l.serial > 0 && l.round == h.round && !h.full }

// entry records that a name leads to a node, nil: nowhere, and returns how
// long the kernel may believe it.
func (h *watcher) entry(l lease, name string, n *node) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.w == nil || l.w.gone || !h.valid(l) {
		return CacheTime
	}
	switch before, known := l.w.names[name]; {
	case !known:
		if h.names >= h.limits.names {
			h.full = true
			return CacheTime
		}
		h.names++
	case before != nil && before != n && before.said.digest != 0 && before.ident.kind != unix.S_IFDIR:
		// It has lost its name before that was compared.
		before.said = saying{}
		h.queued = append(h.queued, attributesOf(before.id))
	}
	l.w.names[name] = n
	l.w.until = h.end()
	return h.limits.lease
}

// attributes records what is said of a node to a thread, and returns how long
// the kernel may believe it. Attributes of a file with several names can
// change through one that is not watched.
func (h *watcher) attributes(l lease, n *node, st *unix.Statx_t, thread uint32) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var w *watch
	if n.ident.kind == unix.S_IFDIR {
		if w = n.watch; w != nil && w.serial > l.serial {
			w = nil
		}
	} else if st.Nlink == 1 {
		w = h.namedLocked(n)
	}
	if w == nil || !h.valid(l) {
		n.said = saying{}
		return CacheTime
	}
	w.until = h.end()
	now := saying{digest: digestOf(st), thread: thread, at: h.now.UnixNano()}
	// The kernel ignores the answer to the one of two threads that it hears
	// later, and which one that was is not known here.
	if then := n.said; then.digest != 0 && then.digest != now.digest && (then.unsure || then.thread != thread && now.at-then.at < int64(time.Second)) {
		now.unsure = true
	}
	n.said = now
	return h.limits.lease
}

// saying is what the kernel was told of a node's attributes and may keep.
type saying struct {
	digest uint64 // 0: nothing
	thread uint32
	unsure bool  // it may keep something older
	at     int64 // nanoseconds
}

// digestOf tells two states of a file's attributes apart, other than the time
// of the last reading and the blocks, which change without an event.
func digestOf(st *unix.Statx_t) uint64 {
	const odd = 0x9e3779b97f4a7c15
	d := uint64(1)
	for _, v := range [...]uint64{
		st.Size, uint64(st.Mtime.Sec), uint64(st.Ctime.Sec), uint64(st.Mtime.Nsec)<<32 | uint64(st.Ctime.Nsec),
		uint64(st.Mode)<<32 | uint64(st.Nlink), uint64(st.Uid)<<32 | uint64(st.Gid),
	} {
		d = bits.RotateLeft64(d^v, 29) * odd
	}
	return d | 1
}

// placeOf is where a node was seen last.
func (t *Tree) placeOf(n *node) place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return place{n.parent, n.name}
}

// fillEntry writes the reply that introduces a node to the kernel under a name
// that was read with a lease.
func (t *Tree) fillEntry(l lease, thread uint32, name string, n *node, st *unix.Statx_t, out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(t.watcher.entry(l, name, n))
	out.SetAttrTimeout(t.watcher.attributes(l, n, st, thread))
	t.fillAttr(st, &out.Attr)
	t.shown(n, st)
}

// fillAbsent writes the reply that a name is absent.
func (t *Tree) fillAbsent(l lease, name string, out *fuse.EntryOut) {
	*out = fuse.EntryOut{}
	out.SetEntryTimeout(t.watcher.entry(l, name, nil))
}

// removed records that the tree has taken a name away. The kernel knows.
func (h *watcher) removed(parent *node, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if parent.watch != nil {
		h.unname(parent.watch, name)
	}
}

// arrival is a node, nil: one that the kernel does not know, at a name to
// which the tree has just moved it, and the lease by which it was found there.
type arrival struct {
	at place
	n  *node
	l  lease
}

// renamed records that the tree has moved what was at a name. The kernel keeps
// what it has of it under the new name for as long as it was given before, so
// that has to be watched, or dropped. In an exchange there are two arrivals.
func (h *watcher) renamed(from place, arrivals ...arrival) {
	h.mu.Lock()
	kept := from.parent.watch != nil
	if w := from.parent.watch; w != nil {
		h.unname(w, from.name)
	}
	for _, a := range arrivals {
		kept = kept || a.at.parent.watch != nil || a.l.round != h.round
		if w := a.at.parent.watch; w != nil {
			h.unname(w, a.at.name)
		}
	}
	h.mu.Unlock()
	for _, a := range arrivals {
		if kept && (a.n == nil || h.entry(a.l, a.at.name, a.n) == CacheTime) {
			h.later(expiryOf(a.at.parent.id, a.at.name))
		}
	}
}
