package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Lookup introduces a name to the kernel.
func (r *raw) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	parent, e := r.node(in.NodeId)
	if e == 0 {
		e = r.lookup(in.Pid, parent, name, out)
	}
	if e == 0 {
		r.lookedUp(parent, out.Mode)
	}
	if e == unix.ENOENT { // a negative entry, which the kernel may keep
		return fuse.OK
	}
	return fuse.Status(e)
}

// lookup finds a name. When it is absent, the reply says so with ENOENT.
func (t *Tree) lookup(thread uint32, parent *node, name string, out *fuse.EntryOut) unix.Errno {
	if e := checkName(name); e != 0 {
		return e
	}
	kid := t.kid(parent, name)
	switch {
	case kid != nil && kid.region:
		return t.enter(thread, kid.node, out)
	case parent.synthetic() && kid != nil:
		t.enterSynthetic(kid.node, LeaseTime, out)
		return 0
	case parent.synthetic():
		*out = fuse.EntryOut{}
		out.SetEntryTimeout(LeaseTime)
		return unix.ENOENT
	}
	dir, e := t.acquireFor(thread, parent)
	if e != 0 {
		return e
	}
	defer t.release(parent)
	var l lease
	var st unix.Statx_t
	if kid == nil {
		l = t.watcher.leaseNames(parent, dir)
	} else {
		e := statName(dir, name, &st)
		if e == unix.ENOENT || e == 0 && fileType(&st) != unix.S_IFDIR {
			t.enterSynthetic(kid.node, CacheTime, out) // on the way to a region inside this one
			return 0
		}
	}
	n, e := t.find(parent, dir, name, t.startsAgain(thread), &st)
	if e == unix.ENOENT {
		t.fillAbsent(l, name, out)
	}
	if e != 0 {
		return e
	}
	t.fillEntry(t.include(l, n, &st), thread, name, n, &st, out)
	return 0
}

// include adds the attributes of a directory that was found to a lease.
func (t *Tree) include(l lease, n *node, st *unix.Statx_t) lease {
	if n.ident.kind != unix.S_IFDIR {
		return l
	}
	fd, e := t.acquire(n)
	if e != 0 {
		return l
	}
	defer t.release(n)
	if t.watcher.includeNode(&l, n, fd) && statFD(fd, st) != 0 {
		return lease{}
	}
	return l
}

// enter introduces the root of a region.
func (t *Tree) enter(thread uint32, n *node, out *fuse.EntryOut) unix.Errno {
	l := t.watcher.leaseNode(n, n.fd)
	var st unix.Statx_t
	if e := statFD(n.fd, &st); e != 0 {
		return e
	}
	t.fillEntry(l, thread, "", n, &st, out)
	out.SetEntryTimeout(LeaseTime) // a region stays what it is
	return 0
}

// enterSynthetic introduces a directory that only the table makes, and which
// never changes.
func (t *Tree) enterSynthetic(n *node, names time.Duration, out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(names)
	out.SetAttrTimeout(LeaseTime)
	t.fillSynthetic(n, &out.Attr)
}

// Forget takes lookups back.
func (r *raw) Forget(id, count uint64) { r.forget(id, count) }
