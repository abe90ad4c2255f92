package fs

import "golang.org/x/sys/unix"

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
	t.mu.Unlock()
	if parent == nil || n.permanent {
		return false
	}
	dir, e := t.acquire(parent)
	if e != 0 {
		return true
	}
	defer t.release(parent)
	var st unix.Statx_t
	return statName(dir, name, &st) != 0 || identityOf(&st) != n.ident
}
