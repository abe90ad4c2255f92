package fs

import (
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// linkFD gives the inode of a descriptor one more name. The link in /proc
// leads to the inode itself, even when that is a symbolic link.
func (t *Tree) linkFD(fd, dir int, name string) unix.Errno {
	return retry(func() error {
		return unix.Linkat(t.procFD, strconv.Itoa(fd), dir, name, unix.AT_SYMLINK_FOLLOW)
	})
}

// maxLink is the longest target of a symbolic link with its end, PATH_MAX.
const maxLink = 4096

// Readlink answers readlink(2) with the stored text.
func (r *raw) Readlink(_ <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	n, e := r.node(in.NodeId)
	if e == 0 && n.ident.kind != unix.S_IFLNK {
		e = unix.EINVAL
	}
	if e != 0 {
		return nil, fuse.Status(e)
	}
	fd, e := r.acquire(n)
	if e != 0 {
		return nil, fuse.Status(e)
	}
	defer r.release(n)
	buf := make([]byte, maxLink)
	var size int
	e = retry(func() (err error) {
		size, err = unix.Readlinkat(fd, "", buf)
		return err
	})
	if e != 0 {
		return nil, fuse.Status(e)
	}
	return buf[:size], fuse.OK
}
