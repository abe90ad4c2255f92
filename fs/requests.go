package fs

import (
	"bytes"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The requests that are frequent, or carry much data, are taken apart here;
// their fixed parts are structures of go-fuse. The rest is left to its
// ProtocolServer, which makes objects for each request and keeps a table of
// them.

// Kinds of requests, from Linux include/uapi/linux/fuse.h.
const (
	opLookup        = 1
	opForget        = 2
	opGetattr       = 3
	opSetattr       = 4
	opReadlink      = 5
	opSymlink       = 6
	opMknod         = 8
	opMkdir         = 9
	opUnlink        = 10
	opRmdir         = 11
	opRename        = 12
	opLink          = 13
	opOpen          = 14
	opRead          = 15
	opWrite         = 16
	opStatfs        = 17
	opRelease       = 18
	opFsync         = 20
	opInit          = 26
	opOpendir       = 27
	opReaddir       = 28
	opReleasedir    = 29
	opFsyncdir      = 30
	opCreate        = 35
	opInterrupt     = 36
	opBatchForget   = 42
	opFallocate     = 43
	opReaddirplus   = 44
	opRename2       = 45
	opLseek         = 46
	opCopyFileRange = 47
)

const (
	inHeader    = int(unsafe.Sizeof(fuse.InHeader{}))
	outHeader   = int(unsafe.Sizeof(fuse.OutHeader{}))
	writeHeader = int(unsafe.Sizeof(fuse.WriteIn{}))
)

const (
	// noReply is the size of the reply to a request that has none.
	noReply = -1
	// notOurs is the status of a request that is left to the library. No
	// handler returns it.
	notOurs = fuse.Status(-1)
)

// waits reports whether a request is likely to wait for a disk.
func waits(op uint32) bool {
	switch op {
	case opFsync, opFsyncdir, opFallocate, opCopyFileRange:
		return true
	}
	return false
}

// as reads the beginning of a buffer as a structure. A buffer that is too
// short panics.
func as[T any](b []byte) *T {
	var t T
	_ = b[unsafe.Sizeof(t)-1]
	return (*T)(unsafe.Pointer(unsafe.SliceData(b)))
}

// body prepares a reply with a structure after the header.
func body[T any](r *reader) (*T, int) {
	t := as[T](r.out[outHeader:])
	clear(r.out[outHeader:][:unsafe.Sizeof(*t)])
	return t, int(unsafe.Sizeof(*t))
}

// text is a name that ends with a zero byte.
func text(b []byte) string {
	name, _ := texts(b)
	return name
}

// texts is a name that ends with a zero byte, and what follows it.
func texts(b []byte) (name string, rest []byte) {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return string(b[:i]), b[i+1:]
	}
	return string(b), nil
}

// call handles a request, of which h is the beginning, and returns the size
// of what follows the reply's header. A panic is EIO.
func (r *reader) call(h *fuse.InHeader, in []byte) (size int, how fuse.Status) {
	defer func() {
		if v := recover(); v != nil {
			size, how = 0, r.c.recovered(v)
		}
	}()
	if h.TotalExtlen != 0 {
		return 0, notOurs
	}
	switch h.Opcode {
	case opLookup:
		out, size := body[fuse.EntryOut](r)
		return size, r.c.Lookup(nil, h, text(in[inHeader:]), out)
	case opGetattr:
		out, size := body[fuse.AttrOut](r)
		return size, r.c.GetAttr(nil, as[fuse.GetAttrIn](in), out)
	case opOpen:
		out, size := body[fuse.OpenOut](r)
		return size, r.c.Open(nil, as[fuse.OpenIn](in), out)
	case opCreate:
		out, size := body[fuse.CreateOut](r)
		return size, r.c.Create(nil, as[fuse.CreateIn](in), text(in[unsafe.Sizeof(fuse.CreateIn{}):]), out)
	case opRelease:
		r.c.Release(nil, as[fuse.ReleaseIn](in))
		return 0, fuse.OK
	case opForget:
		r.c.forget(h.NodeId, as[fuse.ForgetIn](in).Nlookup)
		return noReply, fuse.OK
	case opBatchForget:
		r.forgetMany(in)
		return noReply, fuse.OK
	case opRead:
		q := as[fuse.ReadIn](in)
		n, e := r.c.read(q, r.out[outHeader:][:q.Size])
		return n, fuse.Status(e)
	case opWrite:
		q := as[fuse.WriteIn](in)
		out, size := body[fuse.WriteOut](r)
		var s fuse.Status
		out.Size, s = r.c.Write(nil, q, in[writeHeader:][:q.Size])
		return size, s
	case opOpendir:
		out, size := body[fuse.OpenOut](r)
		return size, r.c.OpenDir(nil, as[fuse.OpenIn](in), out)
	case opReaddir, opReaddirplus:
		q := as[fuse.ReadIn](in)
		entries := fuse.NewDirEntryList(r.out[outHeader:][:q.Size], q.Offset)
		list := r.c.ReadDir
		if h.Opcode == opReaddirplus {
			list = r.c.ReadDirPlus
		}
		s := list(nil, q, entries)
		return len(entries.Bytes()), s
	case opReleasedir:
		r.c.ReleaseDir(as[fuse.ReleaseIn](in))
		return 0, fuse.OK
	case opInterrupt:
		// Handlers are not interrupted. The kernel then does not ask again,
		// for as long as the connection lives.
		return 0, fuse.ENOSYS
	}
	return r.callByName(h, in)
}

// forgetMany takes back the lookups of many nodes.
func (r *reader) forgetMany(in []byte) {
	type forgetOne struct{ id, count uint64 }
	type forgetIn struct {
		fuse.InHeader
		count, _ uint32
	}
	rest := in[unsafe.Sizeof(forgetIn{}):]
	for range as[forgetIn](in).count {
		one := as[forgetOne](rest)
		r.c.forget(one.id, one.count)
		rest = rest[unsafe.Sizeof(*one):]
	}
}

const (
	iocBackingOpen  = 0x4010e501
	iocBackingClose = 0x4004e502
)

func backingOpen(device int, m *fuse.BackingMap) (int32, unix.Errno) {
	id, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(device), iocBackingOpen, uintptr(unsafe.Pointer(m)))
	return int32(id), e
}

func backingClose(device int, id int32) unix.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(device), iocBackingClose, uintptr(unsafe.Pointer(&id)))
	return e
}
