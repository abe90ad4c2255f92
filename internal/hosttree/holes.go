package hosttree

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Content returns a reader of a regular file's bytes from its begin, which does
// not read what is a hole: a file can be far larger than the disk. f stays the
// caller's.
func Content(f *os.File) io.Reader {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Blocks*512 >= st.Size {
		return f
	}
	return &holes{f: f, size: st.Size}
}

// holes is a file's content, whose bytes from at to data are a hole, and from
// there to end are not.
type holes struct {
	f                   *os.File
	at, data, end, size int64
}

func (h *holes) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if h.at >= h.size {
		return 0, io.EOF
	}
	if h.at >= h.end {
		h.look()
	}
	if h.at < h.data {
		n := int(min(int64(len(b)), h.data-h.at))
		clear(b[:n])
		h.at += int64(n)
		return n, nil
	}
	n, err := h.f.ReadAt(b[:min(int64(len(b)), h.end-h.at)], h.at)
	h.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// look finds the next data (lseek, SEEK_DATA). Where that cannot be said, all
// is.
func (h *holes) look() {
	h.data, h.end = h.at, h.size
	data, err := unix.Seek(int(h.f.Fd()), h.at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		h.data = h.size // there is none
		return
	}
	if err != nil {
		return
	}
	if end, err := unix.Seek(int(h.f.Fd()), data, unix.SEEK_HOLE); err == nil && end > data {
		h.data, h.end = min(data, h.size), min(end, h.size)
	}
}
