package fs

import (
	"slices"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The kernel believes a name for [CacheTime]. When the host has taken the
// name away meanwhile, or given it to another file, an operation on the node
// may have come about in two ways: by a path, and then it must reach what is
// there now, or what is written would go where nobody can find it; or by
// something that somebody holds, such as a working directory, a descriptor or
// a link of /proc/self/fd, and then it must go on working, as on any
// filesystem. The request does not say which.
//
// ESTALE tells them apart. On it the kernel starts the call again, once, and
// looks the whole path up anew (LOOKUP_REVAL, Linux Documentation/
// filesystems/path-lookup.rst). So a thread is refused the first time. If it
// then asks for the same node again, it holds it and is let through; a path
// has led it elsewhere meanwhile.

// staleRetry is how long the kernel may take for its second attempt, also on
// a loaded machine. It is within [CacheTime], so that what is used without
// asking for the name is never older than what the kernel may use anyway.
const staleRetry = CacheTime / 2

// refusal is an answer of ESTALE to a thread, until its next operation.
type refusal struct {
	at   time.Time
	lost []*node // what had lost its name
}

func (r refusal) live() bool { return time.Since(r.at) < staleRetry }

const (
	// maxRefusals bounds the threads remembered; more are forgotten early.
	maxRefusals = 256
	// maxAncestors bounds how far up names are asked for.
	maxAncestors = 64
)

// intent is what an operation does to its nodes.
type intent int

const (
	reads intent = iota
	writes
	// binds is a write by bind(2), which the kernel does not start again: it
	// is never refused, and may go where the path led before.
	binds
)

// use acquires a node for an operation of a thread, or answers ESTALE if a
// path may have led to it, or to another node of the operation, that leads
// elsewhere now.
func (t *Tree) use(thread uint32, n *node, what intent, also ...*node) (int, unix.Errno) {
	fd, e := t.acquire(n)
	if e == unix.ESTALE {
		t.refuse(thread, n)
	}
	if e != 0 {
		return -1, e
	}
	if e := t.check(thread, what, append(also, n)...); e != 0 {
		t.release(n)
		return -1, e
	}
	return fd, 0
}

// check decides about all nodes of one operation at once, since the kernel
// starts again once only.
func (t *Tree) check(thread uint32, what intent, nodes ...*node) unix.Errno {
	var lost []*node
	for _, n := range nodes {
		x, e := t.outdated(n)
		if e != 0 {
			return e
		}
		if x != nil {
			lost = append(lost, x)
		}
	}
	if !t.mayUse(thread, lost) && what != binds {
		t.refuse(thread, lost...)
		return unix.ESTALE
	}
	if what != reads {
		for _, n := range lost {
			if e := t.movedError(n); e != 0 {
				return e
			}
		}
	}
	return 0
}

// outdated returns the node itself or the directory above it whose last known
// name leads elsewhere now, nil if there is none. A node without parent has
// lost its name through the tree, or never had one, and is held by somebody.
// Directories further up whose descriptors are closed are left out: opening
// them for this would be dear in a deep tree.
func (t *Tree) outdated(n *node) (*node, unix.Errno) {
	for level := range maxAncestors {
		t.mu.Lock()
		at := place{n.parent, n.name}
		held := at.parent != nil && at.parent.fd >= 0
		t.mu.Unlock()
		if n.permanent || at.parent == nil || level > 0 && !held {
			return nil, 0
		}
		dir, e := t.acquire(at.parent)
		if e == unix.ESTALE {
			return at.parent, 0
		}
		if e != 0 {
			return nil, e
		}
		var st unix.Statx_t
		e = statName(dir, at.name, &st)
		t.release(at.parent)
		gone := e == unix.ENOENT || e == unix.ENOTDIR || e == 0 && identityOf(&st) != n.ident
		switch {
		case !gone:
			n = at.parent
		case t.isAt(n, at):
			return n, 0
		}
	}
	return nil, 0
}

// place is a name in a directory.
type place struct {
	parent *node
	name   string
}

// isAt reports whether a node is still recorded at a place: a rename through
// the tree may have come in between.
func (t *Tree) isAt(n *node, at place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return place{n.parent, n.name} == at
}

// refuse records that a thread is about to be answered ESTALE.
func (t *Tree) refuse(thread uint32, lost ...*node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.refusals) >= maxRefusals {
		clear(t.refusals)
	}
	t.refusals[thread] = refusal{time.Now(), lost}
}

// mayUse reports whether a thread may use nodes whose names are lost: it was
// refused just before and holds them, or it has looked them up since. The
// latter is so when the host replaces a name all the time; a plain directory
// would have opened one version or another, too. It ends the refusal.
func (t *Tree) mayUse(thread uint32, lost []*node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.refusals[thread]
	delete(t.refusals, thread)
	for _, n := range lost {
		if !r.live() || !slices.Contains(r.lost, n) && n.seen.Before(r.at) {
			return false
		}
	}
	return true
}

// startsAgain reports whether a thread's lookup may be part of a call's
// second attempt. What it finds needs a descriptor at once, since its name
// may be gone again before it is used.
func (t *Tree) startsAgain(thread uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.refusals[thread]
	return ok && r.live()
}

// movedError is what a write in a held directory that has lost its name
// answers, by where the host has put it: 0 if writes are allowed there.
func (t *Tree) movedError(n *node) unix.Errno {
	if n.ident.kind != unix.S_IFDIR {
		return 0
	}
	first, e := t.acquire(n)
	if e != 0 {
		return e
	}
	defer t.release(n)
	dir := first
	defer func() {
		if dir != first {
			unix.Close(dir)
		}
	}()
	var below identity
	for {
		var st unix.Statx_t
		if e := statFD(dir, &st); e != 0 {
			return e
		}
		at := identityOf(&st)
		if slices.Contains(n.domain.roots, at) {
			return 0
		}
		for _, root := range t.roots {
			if root.ident == at {
				return root.writeError()
			}
		}
		if st.Nlink == 0 {
			return 0 // removed: the host says what is possible there
		}
		if at == below {
			return unix.ESTALE // outside of every region
		}
		up, e := openAt(dir, "..", unix.O_PATH|unix.O_DIRECTORY, 0)
		if e != 0 {
			return e
		}
		if dir != first {
			unix.Close(dir)
		}
		dir, below = up, at
	}
}

// useForAttributes is [Tree.use] for SETATTR. fchmod and futimens come
// without a handle and are not started again, so a node that somebody has
// open is not asked for its name.
func (t *Tree) useForAttributes(n *node, in *fuse.SetAttrIn) (int, unix.Errno) {
	n.open.Lock()
	opens := n.opens + n.openDirs
	n.open.Unlock()
	if _, byHandle := in.GetFh(); byHandle || opens > 0 {
		return t.acquire(n)
	}
	return t.use(in.Pid, n, writes)
}
