package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Mkdir answers mkdir(2).
func (r *raw) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	mode := r.storedMode(in.Mode)
	return r.makeNode(&in.InHeader, name, unix.S_IFDIR|mode, 0, out, func(dir int) error {
		return unix.Mkdirat(dir, name, mode)
	})
}

// Mknod answers mknod(2): regular files, pipes, sockets; devices only in
// mode Preserve, where the mount is nodev.
func (r *raw) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	mode := in.Mode&unix.S_IFMT | r.storedMode(in.Mode)
	return r.makeNode(&in.InHeader, name, mode, 0, out, func(dir int) error {
		switch in.Mode & unix.S_IFMT {
		case unix.S_IFBLK, unix.S_IFCHR:
			if r.opts.Ownership == Owner {
				return unix.EPERM
			}
		}
		return unix.Mknodat(dir, name, mode, int(in.Rdev))
	})
}

// Symlink answers symlink(2). The target is text and nothing else here.
func (r *raw) Symlink(_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return r.makeNode(in, name, unix.S_IFLNK|0o777, len(target), out, func(dir int) error {
		return unix.Symlinkat(target, dir, name)
	})
}

// makeNode makes a name by call and introduces what it made. size is the
// length of a link's text.
func (r *raw) makeNode(in *fuse.InHeader, name string, mode uint32, size int, out *fuse.EntryOut, call func(dir int) error) fuse.Status {
	what := writes
	if mode&unix.S_IFMT == unix.S_IFSOCK {
		what = binds
	}
	parent, dir, e := r.enterParent(in, name, what)
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(parent)
	l := r.watcher.leaseNames(parent, dir)
	e = r.chargeMake(parent, dir, mode, size, func() unix.Errno { return retry(func() error { return call(dir) }) })
	if e == unix.EDQUOT && r.exists(dir, name) {
		e = unix.EEXIST
	}
	if e != 0 {
		return fuse.Status(e)
	}
	if r.opts.Ownership == Preserve {
		if e := r.adoptName(dir, name, in, mode); e != 0 {
			return fuse.Status(e)
		}
	}
	var st unix.Statx_t
	n, e := r.find(parent, dir, name, false, &st)
	if e != 0 {
		return fuse.Status(e)
	}
	r.fillEntry(r.include(l, n, &st), in.Pid, name, n, &st, out)
	return fuse.OK
}

// adoptName gives what was just made at a name to the caller. Only what
// still is of the right kind and belongs to the server can be it; anything
// else was put there by somebody on the host meanwhile, and stays his.
func (t *Tree) adoptName(dir int, name string, in *fuse.InHeader, mode uint32) unix.Errno {
	fd, e := openAt(dir, name, pathFlags, 0)
	if e != 0 {
		return e
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return e
	}
	if fileType(&st) != mode&unix.S_IFMT || st.Uid != 0 {
		return 0
	}
	mode &= 0o7777
	if fileType(&st) == unix.S_IFLNK {
		mode = 0
	}
	return t.adopt(dir, fd, in, mode|uint32(st.Mode)&unix.S_ISGID)
}

// Link answers link(2). Both ends must be writable and in one domain.
func (r *raw) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	n, e := r.node(in.Oldnodeid)
	if e == 0 {
		e = n.writeError()
	}
	if e != 0 {
		return fuse.Status(e)
	}
	to, e := r.node(in.NodeId)
	if e != 0 {
		return fuse.Status(e)
	}
	fd, e := r.acquireFor(in.Pid, n, to)
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(n)
	parent, dir, e := r.enterParent(&in.InHeader, name, writes, n)
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(parent)
	if parent.domain != n.domain {
		return fuse.EXDEV
	}
	l := r.watcher.leaseNames(parent, dir)
	if e := r.chargeLink(n, fd, dir, func() unix.Errno { return r.linkFD(fd, dir, name) }); e != 0 {
		return fuse.Status(e)
	}
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return fuse.Status(e)
	}
	r.fillEntry(l, in.Pid, name, r.remember(parent, name, &st), &st, out)
	return fuse.OK
}
