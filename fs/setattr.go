package fs

import (
	"os"
	"strconv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// SetAttr answers chmod, chown, truncate and utimensat.
func (r *raw) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, e := r.node(in.NodeId)
	if e == 0 {
		e = n.writeError()
	}
	if e != 0 {
		return fuse.Status(e)
	}
	fd, e := r.useForAttributes(n, in)
	if e != 0 {
		return fuse.Status(e)
	}
	defer r.release(n)
	const all = fuse.FATTR_MODE | fuse.FATTR_UID | fuse.FATTR_GID | fuse.FATTR_SIZE | fuse.FATTR_ATIME | fuse.FATTR_MTIME
	if in.Valid&all == 0 { // chown(2) of nothing
		if e := touchOwner(fd); e != 0 {
			return fuse.Status(e)
		}
	}
	// Owner before mode, because a change of owner takes mode bits away; size
	// before mode, because with a size comes a mode without set-id bits, which
	// must stay where the size is refused.
	for _, set := range []func(*node, int, *fuse.SetAttrIn) unix.Errno{r.setOwner, r.setSize, r.setMode, r.setTimes} {
		if e := set(n, fd, in); e != 0 {
			return fuse.Status(e)
		}
	}
	return fuse.Status(r.getattr(in.Pid, n, out))
}

// setOwner changes no owner in mode Owner: the shown one is the only one.
func (t *Tree) setOwner(_ *node, fd int, in *fuse.SetAttrIn) unix.Errno {
	uid, setUID := in.GetUID()
	gid, setGID := in.GetGID()
	if !setUID && !setGID {
		return 0
	}
	if t.opts.Ownership == Owner {
		if setUID && uid != t.opts.UID || setGID && gid != t.opts.GID {
			return unix.EPERM
		}
		return touchOwner(fd)
	}
	u, g := -1, -1
	if setUID {
		u = int(uid)
	}
	if setGID {
		g = int(gid)
	}
	return retry(func() error { return unix.Fchownat(fd, "", u, g, unix.AT_EMPTY_PATH) })
}

// touchOwner sets the time of change as a chown(2) to the same owner does.
func touchOwner(fd int) unix.Errno {
	return retry(func() error { return unix.Fchownat(fd, "", -1, -1, unix.AT_EMPTY_PATH) })
}

func (t *Tree) setMode(_ *node, fd int, in *fuse.SetAttrIn) unix.Errno {
	mode, ok := in.GetMode()
	if !ok {
		return 0
	}
	return t.chmod(fd, t.storedMode(mode))
}

// storedMode is what reaches the disk of a mode that a client asks for.
func (t *Tree) storedMode(mode uint32) uint32 {
	if t.opts.Ownership == Owner {
		mode &^= setuidBits
	}
	return mode & 0o7777
}

func (t *Tree) chmod(fd int, mode uint32) unix.Errno {
	return retry(func() error { return unix.Fchmodat(t.procFD, strconv.Itoa(fd), mode, 0) })
}

func (t *Tree) setSize(n *node, fd int, in *fuse.SetAttrIn) unix.Errno {
	size, ok := in.GetSize()
	if !ok {
		return 0
	}
	if e := t.dropPrivileges(fd); e != 0 {
		return e
	}
	if size == 0 && in.Valid&fuse.FATTR_FH == 0 && t.opts.Ownership == Preserve {
		// This may be the O_TRUNC of an open, which sets the times of an empty
		// file, too: "> stamp" does that.
		return t.empty(n, fd)
	}
	truncate := func() error { return unix.Truncate(procPath(fd), int64(size)) }
	if id, ok := in.GetFh(); ok {
		if h := t.handles.file(id); h != nil && h.node == n && h.writes() {
			real, e := h.real(t)
			if e != 0 {
				return e
			}
			truncate = func() error { return unix.Ftruncate(real, int64(size)) }
		}
	}
	return t.chargeResize(n, fd, func(int64) int64 { return int64(size) }, func() unix.Errno { return retry(truncate) })
}

// setTimes keeps apart "leave", "now" and a given time, for each of the two.
func (t *Tree) setTimes(_ *node, fd int, in *fuse.SetAttrIn) unix.Errno {
	if in.Valid&(fuse.FATTR_ATIME|fuse.FATTR_MTIME) == 0 {
		return 0
	}
	pick := func(set, now uint32, sec uint64, nsec uint32) unix.Timespec {
		switch {
		case in.Valid&set == 0:
			return unix.Timespec{Nsec: unix.UTIME_OMIT}
		case in.Valid&now != 0:
			return unix.Timespec{Nsec: unix.UTIME_NOW}
		}
		return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
	}
	times := []unix.Timespec{
		pick(fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW, in.Atime, in.Atimensec),
		pick(fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW, in.Mtime, in.Mtimensec),
	}
	return retry(func() error { return unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH) })
}

// dropPrivileges clears set-user-id and set-group-id bits that the host has
// put on a file, before its contents can change: a privileged server's writes
// would keep them.
func (t *Tree) dropPrivileges(fd int) unix.Errno {
	if t.opts.Ownership != Owner {
		return 0 // the client's kernel asks for it by SETATTR
	}
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return e
	}
	if uint32(st.Mode)&setuidBits == 0 || fileType(&st) != unix.S_IFREG {
		return 0
	}
	e := t.chmod(fd, uint32(st.Mode)&0o7777&^setuidBits)
	if e == unix.EPERM && os.Geteuid() != 0 {
		return 0 // somebody else's file: the host's kernel clears them on write
	}
	return e
}
