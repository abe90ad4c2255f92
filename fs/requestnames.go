package fs

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// callByName handles the requests that make, change and take away names, and
// those that change attributes: unpacking an archive or removing a tree
// consists of them. It is the rest of [reader.call].
func (r *reader) callByName(h *fuse.InHeader, in []byte) (int, fuse.Status) {
	switch h.Opcode {
	case opSetattr:
		out, size := body[fuse.AttrOut](r)
		return size, r.c.SetAttr(nil, as[fuse.SetAttrIn](in), out)
	case opMkdir:
		out, size := body[fuse.EntryOut](r)
		return size, r.c.Mkdir(nil, as[fuse.MkdirIn](in), textAfter[fuse.MkdirIn](in), out)
	case opMknod:
		out, size := body[fuse.EntryOut](r)
		return size, r.c.Mknod(nil, as[fuse.MknodIn](in), textAfter[fuse.MknodIn](in), out)
	case opSymlink:
		out, size := body[fuse.EntryOut](r)
		name, rest := texts(in[inHeader:])
		return size, r.c.Symlink(nil, h, text(rest), name, out)
	case opLink:
		out, size := body[fuse.EntryOut](r)
		return size, r.c.Link(nil, as[fuse.LinkIn](in), textAfter[fuse.LinkIn](in), out)
	case opUnlink:
		return 0, r.c.Unlink(nil, h, text(in[inHeader:]))
	case opRmdir:
		return 0, r.c.Rmdir(nil, h, text(in[inHeader:]))
	case opRename, opRename2:
		return 0, r.rename(h, in)
	case opReadlink:
		target, s := r.c.Readlink(nil, h)
		return copy(r.out[outHeader:], target), s
	case opStatfs:
		out, size := body[fuse.StatfsOut](r)
		return size, r.c.StatFs(nil, h, out)
	case opFsync:
		return 0, r.c.Fsync(nil, as[fuse.FsyncIn](in))
	case opLseek:
		out, size := body[fuse.LseekOut](r)
		return size, r.c.Lseek(nil, as[fuse.LseekIn](in), out)
	}
	return 0, notOurs
}

// textAfter is the name that follows the fixed part of a request.
func textAfter[T any](in []byte) string {
	var t T
	return text(in[unsafe.Sizeof(t):])
}

// rename handles the request with flags, and the one without, whose fixed
// part is shorter.
func (r *reader) rename(h *fuse.InHeader, in []byte) fuse.Status {
	type withoutFlags struct {
		fuse.InHeader
		Newdir uint64
	}
	q := fuse.RenameIn{InHeader: *h, Newdir: as[withoutFlags](in).Newdir}
	rest := in[unsafe.Sizeof(withoutFlags{}):]
	if h.Opcode == opRename2 {
		q.Flags = as[fuse.RenameIn](in).Flags
		rest = in[unsafe.Sizeof(q):]
	}
	oldName, rest := texts(rest)
	newName := text(rest)
	if newName == "" {
		return fuse.Status(unix.EINVAL)
	}
	return r.c.Rename(nil, &q, oldName, newName)
}
