package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// enterParent checks that a name can be made in a directory, and acquires it.
// also are the operation's other nodes, acquired already.
func (r *raw) enterParent(in *fuse.InHeader, name string, what intent, also ...*node) (*node, int, unix.Errno) {
	parent, e := r.node(in.NodeId)
	if e == 0 {
		e = checkName(name)
	}
	if e == 0 && r.kid(parent, name) != nil {
		return nil, -1, unix.EEXIST
	}
	if e == 0 {
		e = parent.writeError()
	}
	if e != 0 {
		return nil, -1, e
	}
	dir, e := r.use(in.Pid, parent, what, also...)
	return parent, dir, e
}

// Create answers open(2) with O_CREAT of a name that the kernel believes to
// be absent.
func (r *raw) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	parent, dir, e := r.enterParent(&in.InHeader, name, writes)
	if e == unix.EROFS && in.Flags&unix.O_EXCL == 0 && !changes(in.Flags) {
		return r.createExisting(in, name, out) // only if the host has made it meanwhile
	}
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(parent)
	l := r.watcher.leaseNames(parent, dir)
	flags := hostFlags(in.Flags) | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW
	mode := r.storedMode(in.Mode)
	fd := -1
	e = r.chargeMake(parent, dir, unix.S_IFREG, 0, func() (e unix.Errno) {
		fd, e = openAt(dir, name, flags, mode)
		if e == unix.EMFILE || e == unix.ENFILE {
			r.trim(r.unusedDescriptors() / 2)
			fd, e = openAt(dir, name, flags, mode)
		}
		if e != 0 {
			return e
		}
		if e = r.adopt(dir, fd, &in.InHeader, mode); e != 0 {
			unix.Close(fd)
			unix.Unlinkat(dir, name, 0)
		}
		return e
	})
	if e == unix.EDQUOT && r.exists(dir, name) {
		e = unix.EEXIST
	}
	if e == unix.EEXIST && in.Flags&unix.O_EXCL == 0 {
		return r.createExisting(in, name, out)
	}
	if e != 0 {
		return fuse.Status(e)
	}
	if e := r.openCreated(l, parent, name, fd, in, out); e != 0 {
		takeBack(dir, name, fd)
		unix.Close(fd)
		return fuse.Status(e)
	}
	return fuse.OK
}

// takeBack removes a file that was made and cannot be given to the caller,
// unless somebody has put another in its place. A quota finds it gone when it
// counts anew.
func takeBack(dir int, name string, fd int) {
	var made, there unix.Statx_t
	if statFD(fd, &made) == 0 && statName(dir, name, &there) == 0 && identityOf(&made) == identityOf(&there) {
		unix.Unlinkat(dir, name, 0)
	}
}

// exists reports whether a name is there: what the quota refuses to make may
// be there already.
func (t *Tree) exists(dir int, name string) bool {
	var st unix.Statx_t
	return statName(dir, name, &st) == 0
}

// openCreated makes the node and the open file of a descriptor that has just
// been created. The name is "" for a file without one.
func (t *Tree) openCreated(l lease, parent *node, name string, fd int, in *fuse.CreateIn, out *fuse.CreateOut) unix.Errno {
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return e
	}
	path, e := t.reopenFD(fd, unix.O_PATH)
	if e != 0 {
		return e
	}
	n := t.remember(parent, name, &st)
	path = t.install(n, path)
	if name == "" {
		t.nameless(n)
	}
	if e := t.openNode(n, path, fd, in.Flags&^unix.O_TRUNC, &out.OpenOut); e != 0 {
		t.forget(n.id, 1)
		t.release(n)
		return e
	}
	t.fillEntry(l, in.Pid, name, n, &st, &out.EntryOut)
	t.trim(0)
	return 0
}

// createExisting opens what turned out to be there. Anything but a regular
// file makes the kernel look again: it may be a link to follow.
func (r *raw) createExisting(in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	parent, e := r.node(in.NodeId)
	if e != 0 {
		return fuse.Status(e)
	}
	if parent.synthetic() {
		return fuse.EROFS
	}
	if e := r.lookup(in.Pid, parent, name, &out.EntryOut); e != 0 {
		if e == unix.ENOENT {
			e = parent.writeError()
			if e == 0 {
				e = unix.ESTALE
			}
		}
		return fuse.Status(e)
	}
	n, e := r.node(out.NodeId)
	switch {
	case e != 0:
	case n.ident.kind != unix.S_IFREG:
		e = unix.ESTALE
	default:
		e = r.openFound(n, in.Flags, &out.OpenOut)
	}
	if e != 0 {
		r.forget(out.NodeId, 1)
	}
	return fuse.Status(e)
}

// openFound opens a file that the same request has looked up.
func (t *Tree) openFound(n *node, flags uint32, out *fuse.OpenOut) unix.Errno {
	if changes(flags) {
		if e := n.writeError(); e != 0 {
			return e
		}
	}
	fd, e := t.acquire(n)
	if e != 0 {
		return e
	}
	if e := t.openNode(n, fd, -1, flags, out); e != 0 {
		t.release(n)
		return e
	}
	return 0
}

// adopt gives a new file, open as fd, to the caller in mode Preserve. The
// group is left alone where the directory hands its own down, and bits that
// a change of owner takes away are set again.
func (t *Tree) adopt(dir, fd int, caller *fuse.InHeader, mode uint32) unix.Errno {
	if t.opts.Ownership != Preserve {
		return 0
	}
	var st unix.Statx_t
	if e := statFD(dir, &st); e != 0 {
		return e
	}
	gid := int(caller.Gid)
	if uint32(st.Mode)&unix.S_ISGID != 0 {
		gid = -1
	}
	if e := retry(func() error { return unix.Fchownat(fd, "", int(caller.Uid), gid, unix.AT_EMPTY_PATH) }); e != 0 {
		return e
	}
	if mode&(setuidBits|unix.S_ISVTX) == 0 {
		return 0
	}
	return t.chmod(fd, mode)
}
