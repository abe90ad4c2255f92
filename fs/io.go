package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// openFile returns an open file of a request with a usable descriptor.
func (r *raw) openFile(id uint64) (*file, int, unix.Errno) {
	f := r.handles.file(id)
	if f == nil {
		return nil, -1, unix.EBADF
	}
	fd, e := f.real(r.Tree)
	return f, fd, e
}

// writableFile is openFile for what changes contents.
func (r *raw) writableFile(id uint64) (*file, int, unix.Errno) {
	if r.unasked() {
		return nil, -1, unix.EROFS
	}
	f, fd, e := r.openFile(id)
	switch {
	case e != 0:
	case !f.writes():
		e = unix.EBADF
	default:
		e = f.node.writeError()
		f.node.written.Store(true)
	}
	return f, fd, e
}

// Read answers read(2) without passthrough. It fills the request unless the
// file ends, as the kernel takes a short answer for the end.
func (r *raw) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, e := r.read(in, buf)
	if e != 0 {
		return nil, fuse.Status(e)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (r *raw) read(in *fuse.ReadIn, buf []byte) (done int, e unix.Errno) {
	if r.unasked() {
		return r.readUnasked(in.NodeId, in.Offset, buf)
	}
	_, fd, e := r.openFile(in.Fh)
	if e != 0 {
		return 0, e
	}
	return readFull(fd, buf, int64(in.Offset))
}

// readFull reads until buf is full or the file ends.
func readFull(fd int, buf []byte, offset int64) (done int, e unix.Errno) {
	for done < len(buf) {
		var n int
		e := retry(func() (err error) {
			n, err = unix.Pread(fd, buf[done:], offset+int64(done))
			return err
		})
		if e != 0 {
			return 0, e
		}
		if n == 0 {
			break
		}
		done += n
	}
	return done, 0
}

// Write answers write(2) without passthrough. An appending write goes to the
// end as the host knows it, not to where the client's kernel believes it to
// be, so that another writer's bytes are never overwritten.
func (r *raw) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	f, fd, e := r.writableFile(in.Fh)
	if e != 0 {
		return 0, fuse.Status(e)
	}
	// A page written back from a mapping has its own place.
	appends := in.Flags&unix.O_APPEND != 0 && in.WriteFlags&fuse.WRITE_CACHE == 0
	if in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
		if e := r.dropPrivileges(f.node.fd); e != 0 {
			return 0, fuse.Status(e)
		}
	}
	offset := int64(in.Offset)
	if appends {
		offset = atEnd
	}
	done := 0
	e = r.chargeWrite(f.node, fd, offset, len(data), func(length int) (e unix.Errno) {
		done, e = writeAll(fd, data[:length], offset)
		return e
	})
	return uint32(done), fuse.Status(e)
}

// atEnd is the offset of a write that appends.
const atEnd = -1

// writeAll writes as much as it can. What is on disk is acknowledged, and the
// rest fails next time; so it fails only if nothing was written.
func writeAll(fd int, data []byte, offset int64) (done int, e unix.Errno) {
	for done < len(data) {
		var n int
		e := retry(func() (err error) {
			if offset == atEnd {
				n, err = unix.Pwritev2(fd, [][]byte{data[done:]}, 0, rwfAppend)
			} else {
				n, err = unix.Pwrite(fd, data[done:], offset+int64(done))
			}
			return err
		})
		if e != 0 {
			if done > 0 {
				break
			}
			return 0, e
		}
		done += n
	}
	return done, 0
}

// rwfAppend is RWF_APPEND of pwritev2(2).
const rwfAppend = 0x10

// Fsync answers fsync(2) and fdatasync(2).
func (r *raw) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if r.unasked() {
		return fuse.OK // there is nothing that we have changed
	}
	_, fd, e := r.openFile(in.Fh)
	if e != 0 {
		return fuse.Status(e)
	}
	return fuse.Status(syncFD(fd, in.FsyncFlags))
}

func syncFD(fd int, flags uint32) unix.Errno {
	const dataOnly = 1 // FUSE_FSYNC_FDATASYNC
	if flags&dataOnly != 0 {
		return retry(func() error { return unix.Fdatasync(fd) })
	}
	return retry(func() error { return unix.Fsync(fd) })
}

// Fallocate answers fallocate(2).
func (r *raw) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	f, fd, e := r.writableFile(in.Fh)
	if e != 0 {
		return fuse.Status(e)
	}
	return fuse.Status(r.allocate(f.node, fd, in))
}

// allocate does it. The quota counts sizes, so room beyond the size, which no
// size shows, cannot be had where it counts.
func (t *Tree) allocate(n *node, fd int, in *fuse.FallocateIn) unix.Errno {
	end := int64(in.Offset) + int64(in.Length)
	keep := in.Mode&unix.FALLOC_FL_KEEP_SIZE != 0
	size := int64(0)
	to := func(now int64) int64 {
		size = now
		if keep {
			return now
		}
		return max(now, end)
	}
	return t.chargeResize(n, fd, to, func() unix.Errno {
		if n.charged() && keep && in.Mode&unix.FALLOC_FL_PUNCH_HOLE == 0 && end > size {
			return unix.EOPNOTSUPP
		}
		return retry(func() error { return unix.Fallocate(fd, in.Mode, int64(in.Offset), int64(in.Length)) })
	})
}

// Lseek answers lseek(2) for holes and data. The position it leaves behind
// is used by nothing.
func (r *raw) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	seek := func(fd int) unix.Errno {
		return retry(func() error {
			at, err := unix.Seek(fd, int64(in.Offset), int(in.Whence))
			out.Offset = uint64(at)
			return err
		})
	}
	if r.unasked() {
		n, e := r.node(in.NodeId)
		if e == 0 {
			e = r.withContents(n, func(fd int) (bool, unix.Errno) { return false, seek(fd) })
		}
		return fuse.Status(e)
	}
	_, fd, e := r.openFile(in.Fh)
	if e == 0 {
		e = seek(fd)
	}
	return fuse.Status(e)
}

// maxCopy bounds one copy, so that the answer fits and an abort is not kept
// waiting for long.
const maxCopy = 1 << 28

// CopyFileRange answers copy_file_range(2) within the mount.
func (r *raw) CopyFileRange(_ <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	f, to, e := r.writableFile(in.FhOut)
	if e != 0 {
		return 0, fuse.Status(e)
	}
	_, from, e := r.openFile(in.FhIn)
	if e != 0 {
		return 0, fuse.Status(e)
	}
	length := int64(min(in.Len, maxCopy))
	if f.node.charged() { // what the source does not have takes no room
		var st unix.Statx_t
		if e := statFD(from, &st); e != 0 {
			return 0, fuse.Status(e)
		}
		length = max(min(length, int64(st.Size)-int64(in.OffIn)), 0)
	}
	var n int
	e = r.chargeWrite(f.node, to, int64(in.OffOut), int(length), func(length int) unix.Errno {
		return retry(func() (err error) {
			src, dst := int64(in.OffIn), int64(in.OffOut)
			n, err = unix.CopyFileRange(from, &src, to, &dst, length, 0)
			return err
		})
	})
	return uint32(max(n, 0)), fuse.Status(e)
}
