package fs

import (
	"math"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// setuidBits are the mode bits that mode Owner neither stores nor shows. Not
// showing them keeps the client's kernel from clearing them by a chmod that
// the server may not do; dropPrivileges and the host's kernel clear them.
const setuidBits = unix.S_ISUID | unix.S_ISGID

// fillAttr writes what the tree shows of a host file.
func (t *Tree) fillAttr(st *unix.Statx_t, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: t.shownInode(device(st), st.Ino), Size: st.Size, Blocks: st.Blocks,
		Atime: uint64(st.Atime.Sec), Atimensec: st.Atime.Nsec,
		Mtime: uint64(st.Mtime.Sec), Mtimensec: st.Mtime.Nsec,
		Ctime: uint64(st.Ctime.Sec), Ctimensec: st.Ctime.Nsec,
		Mode: uint32(st.Mode), Nlink: st.Nlink,
		Owner: fuse.Owner{Uid: st.Uid, Gid: st.Gid},
		Rdev:  uint32(unix.Mkdev(st.Rdev_major, st.Rdev_minor)), Blksize: st.Blksize,
	}
	if t.opts.Ownership == Owner {
		out.Owner = fuse.Owner{Uid: t.opts.UID, Gid: t.opts.GID}
		out.Mode &^= setuidBits
	}
}

// fillSynthetic writes the attributes of a directory that only the table
// makes. Its mode lets the owner write, so that creating in it comes here and
// is answered by EROFS and not by the kernel's EACCES.
func (t *Tree) fillSynthetic(n *node, out *fuse.Attr) {
	*out = fuse.Attr{
		Ino: math.MaxUint64>>1 - n.id, Mode: unix.S_IFDIR | 0o755, Nlink: 2 + uint32(len(n.layout.kids)),
		Owner: fuse.Owner{Uid: t.opts.UID, Gid: t.opts.GID}, Blksize: 4096,
	}
}

// shownInode keeps inode numbers of different host filesystems apart, since
// the tree is one filesystem to programs that look for hard links. The first
// region's device keeps its numbers.
func (t *Tree) shownInode(dev, ino uint64) uint64 {
	if dev == t.mainDevice {
		return ino
	}
	t.mu.Lock()
	i, ok := t.devices[dev]
	if !ok {
		i = uint64(len(t.devices)) + 1
		t.devices[dev] = i
	}
	t.mu.Unlock()
	return ino ^ i<<48
}
