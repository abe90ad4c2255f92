package fs

import (
	"time"

	"golang.org/x/sys/unix"
)

// node returns the node of a request. The kernel names only nodes that it
// has not forgotten, so an unknown number is a stale one.
func (t *Tree) node(id uint64) (*node, unix.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.nodes[id]; n != nil {
		return n, 0
	}
	return nil, unix.ESTALE
}

// remember finds or makes the node of what was just seen at name in parent,
// and counts one lookup, which the reply passes on to the kernel.
func (t *Tree) remember(parent *node, name string, st *unix.Statx_t) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.findLocked(parent.domain, st)
	if n == nil {
		n = t.addLocked(parent.domain, st)
	}
	n.lookups++
	t.placeLocked(n, parent, name)
	n.seen = time.Now()
	n.layout = nil
	if parent.layout != nil {
		n.layout = parent.layout.kids[name]
	}
	return n
}

// findLocked finds the node of an inode. A node without descriptor may be
// that of a file that is gone and whose number was given away: it then stays
// reachable by its own number only, where it answers ESTALE.
func (t *Tree) findLocked(d *domain, st *unix.Statx_t) *node {
	n := t.byKey[key{d, device(st), st.Ino}]
	if n == nil || n.fd >= 0 || n.ident == identityOf(st) {
		return n
	}
	t.detachLocked(n)
	t.placeLocked(n, nil, n.name)
	n.handle = nil
	return nil
}

func (t *Tree) addLocked(d *domain, st *unix.Statx_t) *node {
	t.lastID++
	n := &node{id: t.lastID, domain: d, ident: identityOf(st), fd: -1}
	t.nodes[n.id] = n
	t.most = max(t.most, len(t.nodes))
	t.byKey[key{d, n.ident.dev, n.ident.ino}] = n
	return n
}

func (t *Tree) detachLocked(n *node) {
	if n.detached || n.permanent {
		return
	}
	n.detached = true
	delete(t.byKey, key{n.domain, n.ident.dev, n.ident.ino})
}

// forget takes back count lookups; a node without any is dropped.
func (t *Tree) forget(id, count uint64) {
	fd := -1
	t.mu.Lock()
	n := t.nodes[id]
	if n != nil && !n.permanent {
		n.lookups -= min(count, n.lookups)
		if n.lookups == 0 {
			delete(t.nodes, id)
			t.detachLocked(n)
			if n.pins == 0 {
				fd = t.takeLocked(n)
			}
		}
	}
	var at place
	gone := n != nil && n.lookups == 0 && !n.permanent
	if gone {
		at = place{n.parent, n.name}
	}
	t.mu.Unlock()
	t.closeNode(n, fd)
	if gone {
		t.watcher.forgotten(n, at)
	}
}

// nameless records that a node cannot be found by a name.
func (t *Tree) nameless(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placeLocked(n, nil, "")
}

// moved records where a renamed inode is now, so that it can be reopened. It
// returns its node, nil if the kernel knows none.
func (t *Tree) moved(parent *node, name string, st *unix.Statx_t) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.findLocked(parent.domain, st)
	if n != nil {
		t.placeLocked(n, parent, name)
	}
	return n
}

// find looks a name up on the host and remembers its node. A directory gets
// its descriptor at once: it may become somebody's working directory, which
// the host can rename before it is used the first time. hold demands that for
// anything.
func (t *Tree) find(parent *node, dir int, name string, hold bool, st *unix.Statx_t) (*node, unix.Errno) {
	if e := statName(dir, name, st); e != 0 {
		return nil, e
	}
	if !hold && fileType(st) != unix.S_IFDIR || t.isHeld(parent.domain, st) {
		return t.remember(parent, name, st), 0
	}
	fd, e := openAt(dir, name, pathFlags, 0)
	if e == unix.EMFILE || e == unix.ENFILE {
		return t.remember(parent, name, st), 0 // opened when there is room again
	}
	if e != 0 {
		return nil, e
	}
	if e := statFD(fd, st); e != 0 {
		unix.Close(fd)
		return nil, e
	}
	n := t.remember(parent, name, st)
	t.install(n, fd)
	t.release(n)
	t.trim(0)
	return n, 0
}

func (t *Tree) isHeld(d *domain, st *unix.Statx_t) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byKey[key{d, device(st), st.Ino}]
	return n != nil && n.fd >= 0
}

// kid returns what the table puts at name in a directory, nil if nothing.
func (t *Tree) kid(parent *node, name string) *layout {
	t.mu.Lock()
	defer t.mu.Unlock()
	if parent.layout == nil {
		return nil
	}
	return parent.layout.kids[name]
}
