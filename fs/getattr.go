package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// GetAttr answers stat(2) and fstat(2).
func (r *raw) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, e := r.node(in.NodeId)
	if e != 0 {
		return fuse.Status(e)
	}
	return fuse.Status(r.getattr(in.Pid, n, out))
}

func (t *Tree) getattr(thread uint32, n *node, out *fuse.AttrOut) unix.Errno {
	if n.synthetic() {
		out.SetTimeout(LeaseTime)
		t.fillSynthetic(n, &out.Attr)
		return 0
	}
	fd, e := t.acquire(n)
	if e != 0 {
		return e
	}
	defer t.release(n)
	l := t.watcher.leaseNode(n, fd)
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return e
	}
	out.SetTimeout(t.watcher.attributes(l, n, &st, thread))
	t.fillAttr(&st, &out.Attr)
	t.shown(n, &st)
	return 0
}

// Access is asked only on a mount without default_permissions, where every
// user of the mount may do what the regions allow.
func (r *raw) Access(_ <-chan struct{}, in *fuse.AccessIn) fuse.Status {
	n, e := r.node(in.NodeId)
	if e != 0 {
		return fuse.Status(e)
	}
	if in.Mask&unix.W_OK != 0 {
		if e := n.writeError(); e != 0 {
			return fuse.Status(e)
		}
	}
	if in.Mask&unix.X_OK != 0 && n.ident.kind == unix.S_IFREG {
		var attr fuse.AttrOut
		if e := r.getattr(in.Pid, n, &attr); e != 0 {
			return fuse.Status(e)
		}
		if attr.Mode&0o111 == 0 {
			return fuse.EACCES
		}
	}
	return fuse.OK
}

// StatFs answers for the filesystem behind the node. A directory that only
// the table makes answers for the first region with room to write.
func (r *raw) StatFs(_ <-chan struct{}, in *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	n, e := r.node(in.NodeId)
	if e != 0 {
		return fuse.Status(e)
	}
	if n.synthetic() {
		if n = r.mainRegion(); n == nil {
			*out = fuse.StatfsOut{Bsize: 4096, Frsize: 4096, NameLen: maxName}
			return fuse.OK
		}
	}
	fd, e := r.acquire(n)
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(n)
	var st unix.Statfs_t
	if e := retry(func() error { return unix.Fstatfs(fd, &st) }); e != 0 {
		return fuse.Status(e)
	}
	if n.charged() {
		r.fillQuota(&st, out)
		return fuse.OK
	}
	*out = fuse.StatfsOut{
		Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail, Files: st.Files, Ffree: st.Ffree,
		Bsize: uint32(st.Bsize), Frsize: uint32(st.Frsize), NameLen: uint32(st.Namelen),
	}
	return fuse.OK
}

func (t *Tree) mainRegion() *node {
	var first *node
	for _, region := range t.opts.Table.Regions() {
		n := t.roots[region.Virtual]
		if n.writeError() == 0 {
			return n
		}
		if first == nil {
			first = n
		}
	}
	return first
}
