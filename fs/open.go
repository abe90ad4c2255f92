package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Open answers open(2) of a regular file.
func (r *raw) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if r.unasked() {
		return declineOpen(in.Flags)
	}
	n, e := r.node(in.NodeId)
	if e == 0 && n.ident.kind != unix.S_IFREG {
		e = unix.EINVAL
	}
	if e == 0 && changes(in.Flags) {
		e = n.writeError()
	}
	if e != 0 {
		return fuse.Status(e)
	}
	what := reads
	if changes(in.Flags) {
		what = writes
	}
	fd, e := r.use(in.Pid, n, what)
	if e != 0 {
		return fuse.Status(e)
	}
	if e := r.openNode(n, fd, -1, in.Flags, out); e != 0 {
		r.release(n)
		return fuse.Status(e)
	}
	return fuse.OK
}

// changes reports whether an open with these flags may change the file.
func changes(flags uint32) bool {
	return flags&accessMode != unix.O_RDONLY || flags&unix.O_TRUNC != 0
}

// openNode opens a file of a node that the caller has acquired. On success
// the open file owns that use of the node, and created if that is not -1: an
// ordinary descriptor that the caller got by making the file.
func (t *Tree) openNode(n *node, fd, created int, flags uint32, out *fuse.OpenOut) unix.Errno {
	if changes(flags) && created < 0 {
		if e := t.mayChange(fd, flags); e != 0 {
			return e
		}
		if e := t.dropPrivileges(fd); e != 0 {
			return e
		}
	}
	if flags&unix.O_TRUNC != 0 {
		if e := t.empty(n, fd); e != 0 {
			return e
		}
	}
	f := &file{node: n, flags: flags, fd: created}
	n.open.Lock()
	defer n.open.Unlock()
	if n.opens == 0 && n.backing == 0 && !n.counted() {
		n.backing = t.pass.register(fd)
	}
	*out = fuse.OpenOut{OpenFlags: fuse.FOPEN_NOFLUSH}
	if n.backing != 0 {
		out.OpenFlags |= fuse.FOPEN_PASSTHROUGH
		out.BackingID = n.backing
		t.pass.opened.Add(1)
	} else {
		if f.fd < 0 {
			real, e := t.openReal(fd, hostFlags(flags))
			if e != 0 {
				return e
			}
			f.fd = real
		}
		if t.sameContents(n, f.fd) {
			out.OpenFlags |= fuse.FOPEN_KEEP_CACHE
		}
		if created >= 0 || flags&unix.O_TRUNC != 0 {
			out.OpenFlags |= t.uncached(n, flags)
		}
		t.pass.plain.Add(1)
	}
	if f.fd >= 0 {
		t.handleFDs.Add(1)
	}
	n.opens++
	t.keep(n, fd)
	out.Fh = t.handles.addFile(f)
	return 0
}

// uncached lets the client's kernel pass on what is written through a file that
// begins empty and can only be written, without keeping a copy: it would throw
// the copy away at the next open, since the file has changed. That halves the
// time of a large write and the memory it takes. Only where nobody else has the
// file open, and so nobody has mapped it; and not in mode Preserve, where the
// client's kernel clears set-user-id bits only before writes that it keeps.
// The caller holds n.open.
func (t *Tree) uncached(n *node, flags uint32) uint32 {
	if flags&accessMode != unix.O_WRONLY || n.opens > 0 || t.opts.Ownership != Owner {
		return 0
	}
	return fuse.FOPEN_DIRECT_IO
}

// mayChange is what the host's own open(2) would say before a change. With
// passthrough it is the client's kernel that opens the host's file: it does not
// ask for these, and makes EIO of what else is refused.
func (t *Tree) mayChange(fd int, flags uint32) unix.Errno {
	if !t.pass.enabled.Load() {
		return 0
	}
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return e
	}
	switch {
	case st.Attributes&unix.STATX_ATTR_IMMUTABLE != 0,
		st.Attributes&unix.STATX_ATTR_APPEND != 0 && (flags&unix.O_APPEND == 0 || flags&unix.O_TRUNC != 0):
		return unix.EPERM
	}
	var store unix.Statfs_t
	e := retry(func() error { return unix.Fstatfs(fd, &store) })
	if e == 0 && store.Flags&unix.ST_RDONLY != 0 {
		e = unix.EROFS
	}
	return e
}

// openReal opens a node's file with flags of the host, and makes room once
// when descriptors have run out.
func (t *Tree) openReal(fd, flags int) (int, unix.Errno) {
	real, e := t.reopenFD(fd, flags)
	if e == unix.EMFILE || e == unix.ENFILE {
		t.trim(t.unusedDescriptors() / 2)
		real, e = t.reopenFD(fd, flags)
	}
	return real, e
}

// empty is the O_TRUNC of an open, also of one with passthrough, in which the
// kernel does not truncate. The host's own O_TRUNC sets the times, too, when
// the file is empty already.
func (t *Tree) empty(n *node, fd int) unix.Errno {
	return t.chargeResize(n, fd, func(int64) int64 { return 0 }, func() unix.Errno {
		real, e := t.openReal(fd, unix.O_WRONLY|unix.O_TRUNC|unix.O_NONBLOCK)
		if e == 0 {
			unix.Close(real)
		}
		return e
	})
}

// sameContents reports whether the pages that the client's kernel may hold
// of a file are still right. The caller holds n.open.
func (t *Tree) sameContents(n *node, fd int) bool {
	var st unix.Statx_t
	if statFD(fd, &st) != 0 {
		return false
	}
	now := versionOf(&st)
	same := n.fresh == now
	n.fresh = now
	if recent(&st.Ctime) {
		n.fresh = version{} // a further change might not show in the times
	}
	return same
}

// clockGrain is more than the steps in which host filesystems keep times.
const clockGrain = 100 * time.Millisecond

// Release ends an open file.
func (r *raw) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if f := r.handles.takeFile(in.Fh); f != nil {
		r.closeFile(f)
	}
}

func (t *Tree) closeFile(f *file) {
	n := f.node
	n.open.Lock()
	n.opens--
	if f.fd >= 0 {
		t.handleFDs.Add(-1)
		unix.Close(f.fd)
	}
	t.unkeep(n, n.fd)
	lost := n.kept && n.opens == 0
	n.open.Unlock()
	t.release(n)
	if lost {
		t.letGo(n)
	}
}
