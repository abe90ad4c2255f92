package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Tmpfile answers open(2) with O_TMPFILE.
func (r *raw) Tmpfile(_ <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	parent, e := r.node(in.NodeId)
	if e == 0 {
		e = parent.writeError()
	}
	if e != 0 {
		return fuse.Status(e)
	}
	dir, e := r.use(in.Pid, parent, writes)
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(parent)
	mode := r.storedMode(in.Mode)
	fd := -1
	create := func() (_ int, e unix.Errno) {
		fd, e = openAt(dir, ".", hostFlags(in.Flags)|unix.O_TMPFILE|int(in.Flags&unix.O_EXCL), mode)
		return fd, e
	}
	if parent.charged() {
		e = r.opts.Quota.Nameless(create)
	} else {
		_, e = create()
	}
	if e == 0 {
		e = r.openTmpfile(parent, dir, fd, mode, in, out)
	}
	if e != 0 && fd >= 0 {
		unix.Close(fd)
	}
	return fuse.Status(e)
}

// openTmpfile makes the open file of a descriptor that has just been created,
// and that the quota counts as opened until the open file is.
func (r *raw) openTmpfile(parent *node, dir, fd int, mode uint32, in *fuse.CreateIn, out *fuse.CreateOut) unix.Errno {
	var st unix.Statx_t
	e := statFD(fd, &st)
	if e == 0 {
		e = r.adopt(dir, fd, &in.InHeader, mode)
	}
	if e == 0 {
		e = r.openCreated(lease{}, parent, "", fd, in, out)
	}
	if parent.charged() {
		r.opts.Quota.Closed(device(&st), st.Ino, fd)
	}
	return e
}
