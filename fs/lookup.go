package fs

import (
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
		*out = fuse.EntryOut{}
		out.SetEntryTimeout(CacheTime)
		return fuse.OK
	}
	return fuse.Status(e)
}

func (t *Tree) lookup(thread uint32, parent *node, name string, out *fuse.EntryOut) unix.Errno {
	if e := checkName(name); e != 0 {
		return e
	}
	kid := t.kid(parent, name)
	switch {
	case kid != nil && kid.region:
		return t.enter(kid.node, out)
	case parent.synthetic() && kid != nil:
		t.enterSynthetic(kid.node, out)
		return 0
	case parent.synthetic():
		return unix.ENOENT
	}
	dir, e := t.acquireFor(thread, parent)
	if e != 0 {
		return e
	}
	defer t.release(parent)
	var st unix.Statx_t
	if kid != nil {
		e := statName(dir, name, &st)
		if e == unix.ENOENT || e == 0 && fileType(&st) != unix.S_IFDIR {
			t.enterSynthetic(kid.node, out) // on the way to a region inside this one
			return 0
		}
	}
	n, e := t.find(parent, dir, name, t.startsAgain(thread), &st)
	if e != 0 {
		return e
	}
	t.fillEntry(n, &st, out)
	return 0
}

// enter introduces the root of a region.
func (t *Tree) enter(n *node, out *fuse.EntryOut) unix.Errno {
	var st unix.Statx_t
	if e := statFD(n.fd, &st); e != 0 {
		return e
	}
	t.fillEntry(n, &st, out)
	return 0
}

func (t *Tree) enterSynthetic(n *node, out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	fillTimes(out)
	t.fillSynthetic(n, &out.Attr)
}

// Forget takes lookups back.
func (r *raw) Forget(id, count uint64) { r.forget(id, count) }
