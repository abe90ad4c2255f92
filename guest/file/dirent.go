package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sort"

	"golang.org/x/sys/unix"
)

// dirent is one name of a directory and, where the file system tells it, the
// type (DT_*), else DT_UNKNOWN.
type dirent struct {
	name string
	kind byte
}

// maxChunk is how many names of a directory are held and sorted at once.
const maxChunk = 50000

// dirReader reads a directory in sorted chunks; almost every directory is
// one chunk.
type dirReader struct {
	fd    int
	chunk int // names in a chunk
	buf   []byte
	rest  []byte
	eof   bool
}

func newDirReader(fd int) *dirReader {
	return &dirReader{fd: fd, chunk: maxChunk, buf: make([]byte, 32<<10)}
}

// next returns the next chunk, sorted by name; empty means the end.
func (d *dirReader) next() ([]dirent, error) {
	var out []dirent
	for len(out) < d.chunk && !d.eof {
		if len(d.rest) == 0 {
			n, err := unix.Getdents(d.fd, d.buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if n == 0 {
				d.eof = true
				break
			}
			d.rest = d.buf[:n]
		}
		var e dirent
		e, d.rest = parseDirent(d.rest)
		if e.name != "" && e.name != "." && e.name != ".." {
			out = append(out, e)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// parseDirent takes one linux_dirent64 (getdents64(2)) off a buffer. What
// does not look like one ends the buffer.
func parseDirent(b []byte) (dirent, []byte) {
	const fixed = 19 // ino, off, reclen, type
	if len(b) < fixed {
		return dirent{}, nil
	}
	size := int(binary.NativeEndian.Uint16(b[16:]))
	if size < fixed || size > len(b) {
		return dirent{}, nil
	}
	name := b[fixed:size]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	return dirent{name: string(name), kind: b[18]}, b[size:]
}
