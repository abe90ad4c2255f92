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
	fd, e := openAt(dir, ".", hostFlags(in.Flags)|unix.O_TMPFILE|int(in.Flags&unix.O_EXCL), mode)
	if e != 0 {
		return fuse.Status(e)
	}
	e = r.adopt(dir, fd, &in.InHeader, mode)
	if e == 0 {
		e = r.openCreated(parent, "", fd, in, out)
	}
	if e != 0 {
		unix.Close(fd)
	}
	return fuse.Status(e)
}
