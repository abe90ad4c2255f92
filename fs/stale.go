package fs

import (
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
