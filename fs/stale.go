package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// stale reports whether the host has taken a node's name away, or given it to
// another file, since the kernel looked it up. The kernel believes a name for
// [CacheTime]; were such an open answered, what is written would go into a
// file that nobody can find any more. ESTALE instead makes the kernel look
// the whole path up again (LOOKUP_REVAL, Linux Documentation/filesystems/
// path-lookup.rst), and the caller sees what is there now.
//
// A node that lost its last known name through the tree itself has no parent,
// and can be opened for as long as somebody holds it (/proc/self/fd).
func (t *Tree) stale(n *node) bool {
	t.mu.Lock()
	parent, name := n.parent, n.name
	again := time.Now().Before(n.again)
	n.again = time.Time{}
	t.mu.Unlock()
	if parent == nil || n.permanent || again {
		return false
	}
	dir, e := t.acquire(parent)
	if e != 0 {
		return true
	}
	defer t.release(parent)
	var st unix.Statx_t
	if statName(dir, name, &st) == 0 && identityOf(&st) == n.ident {
		return false
	}
	t.expectLookup(n)
	return true
}

// The kernel looks up again after ESTALE once only; a second ESTALE would
// reach the caller, for no better reason than that the host replaces the name
// all the time. So such a lookup opens what it finds, and the operation that
// follows uses that, even if the name is somebody else's again by then: a
// plain directory would have done the same.

// staleRetry is how long the kernel may take for its second attempt, also on
// a loaded machine. It is within [CacheTime], so that what is used without
// asking for the name is never older than what the kernel may use anyway.
const staleRetry = CacheTime / 2

// place is a name in a directory.
type place struct {
	parent *node
	name   string
}

// maxExpected bounds the places remembered; more are forgotten early.
const maxExpected = 256

// expectLookup records that the kernel will look n's name up because of an
// answer of ESTALE.
func (t *Tree) expectLookup(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.parent == nil {
		return
	}
	if len(t.expected) >= maxExpected {
		clear(t.expected)
	}
	t.expected[place{n.parent, n.name}] = time.Now().Add(staleRetry)
}

// isExpected reports whether a lookup may be such a one. There are two of
// them: one to check what the kernel knew, and one when that was wrong.
func (t *Tree) isExpected(parent *node, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.expected) == 0 {
		return false
	}
	at := place{parent, name}
	over, ok := t.expected[at]
	if ok && time.Now().After(over) {
		delete(t.expected, at)
		return false
	}
	return ok
}

// lookupHeld looks a name up as lookup does, and holds what it found for the
// one operation that follows.
func (t *Tree) lookupHeld(parent *node, dir int, name string, st *unix.Statx_t) (*node, unix.Errno) {
	fd, e := openAt(dir, name, pathFlags, 0)
	if e != 0 {
		return nil, e
	}
	if e := statFD(fd, st); e != 0 {
		unix.Close(fd)
		return nil, e
	}
	n := t.remember(parent, name, st)
	t.install(n, fd)
	t.mu.Lock()
	n.again = time.Now().Add(staleRetry)
	t.mu.Unlock()
	t.release(n)
	t.trim(0)
	return n, 0
}

// staleByPath is [Tree.stale] for a change of attributes by path. A file that
// somebody has open may be the target of fchmod or futimens, which come
// without a handle and are right for a file that has no name.
func (t *Tree) staleByPath(n *node, in *fuse.SetAttrIn) bool {
	if _, byHandle := in.GetFh(); byHandle {
		return false
	}
	n.open.Lock()
	opens := n.opens
	n.open.Unlock()
	return opens == 0 && t.stale(n)
}
