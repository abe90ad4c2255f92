package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Extended attributes are not supported. Reading them answers ENOSYS, which
// the kernel remembers for the connection: it then neither asks for
// security.capability before each write nor for access lists. Writing them
// keeps being asked, so that a read-only region can say that it is one.

// SetXAttr answers setxattr(2).
func (r *raw) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, _ string, _ []byte) fuse.Status {
	return r.refuseXAttr(in.NodeId)
}

// RemoveXAttr answers removexattr(2).
func (r *raw) RemoveXAttr(_ <-chan struct{}, in *fuse.InHeader, _ string) fuse.Status {
	return r.refuseXAttr(in.NodeId)
}

func (t *Tree) refuseXAttr(id uint64) fuse.Status {
	n, e := t.node(id)
	if e == 0 {
		e = n.writeError()
	}
	if e == 0 {
		e = unix.EOPNOTSUPP
	}
	return fuse.Status(e)
}
