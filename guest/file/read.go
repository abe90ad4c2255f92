package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// readBlock is how much of a file is read at once.
const readBlock = 64 << 10

// Open opens a regular file for reading, and nothing else: for a FIFO, a
// socket, a device or a directory the answer is of kind invalid, and nothing
// waited or was triggered. The caller closes the file.
func (f *Files) Open(op, p string) (*os.File, os.FileInfo, error) {
	place, st, err := openPlace(op, p)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(place)
	if err := wantRegular(op, p, st.Mode); err != nil {
		return nil, nil, err
	}
	fd, err := reopen(place, p, st)
	if err != nil {
		return nil, nil, fail(op, p, err)
	}
	file := os.NewFile(uintptr(fd), p)
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, fail(op, p, err)
	}
	return file, info, nil
}

func wantRegular(op, p string, mode uint32) error {
	switch kind := kindOf(mode); kind {
	case "file":
		return nil
	case "dir":
		return fail(op, p, unix.EISDIR)
	default:
		return refuse(provider.Invalid, op, p, "it is a "+kind+", not a regular file", "use a command that knows how to deal with it")
	}
}

// reopen opens for reading exactly the file that a place (O_PATH) holds. The
// process's own descriptor links do it without a second look-up; where there
// is no /proc the path is opened anew and compared.
func reopen(place int, p string, st *unix.Stat_t) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(place), flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if fd, err = openat(unix.AT_FDCWD, p, flags, 0); err != nil {
		return -1, err
	}
	var again unix.Stat_t
	if err := unix.Fstat(fd, &again); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if again.Dev != st.Dev || again.Ino != st.Ino {
		unix.Close(fd)
		return -1, unix.EAGAIN
	}
	return fd, nil
}

// Read returns a file's bytes, or those of the lines asked for with their
// line ends. What is skipped is not kept in memory. Kinds: not found, denied,
// invalid, too large (over [provider.MaxReadFile]).
func (f *Files) Read(ctx context.Context, p string, lines provider.LineRange) ([]byte, error) {
	const op = "read file"
	if err := CheckLines(op, p, lines); err != nil {
		return nil, err
	}
	file, info, err := f.Open(op, p)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if lines.IsAll() && info.Size() > provider.MaxReadFile {
		return nil, tooLargeToRead(op, p)
	}
	out, err := readLines(ctx, file, lines, provider.MaxReadFile, max(info.Size(), 0))
	if errors.Is(err, errTooLarge) {
		return nil, tooLargeToRead(op, p)
	}
	if err != nil {
		return nil, fail(op, p, err)
	}
	return out, nil
}

func tooLargeToRead(op, p string) error {
	return refuse(provider.TooLarge, op, p, "this is more than 16 MiB", "read a range of lines, or use a command such as head, tail or grep")
}

// CheckLines accepts the zero range and 1 <= start <= end; either may be 0.
// Kind: invalid.
func CheckLines(op, p string, r provider.LineRange) error {
	switch {
	case r.Start < 0 || r.End < 0:
		return refuse(provider.Invalid, op, p, "line numbers count from 1", "give a start and an end of at least 1")
	case r.End != 0 && r.Start > r.End:
		return refuse(provider.Invalid, op, p, "the first line lies behind the last", "give a start that is not greater than the end")
	}
	return nil
}

var errTooLarge = errors.New("more than the limit")

// readLines copies the lines of a range, at most limit bytes of them. Lines
// end with LF; hint is the size of the whole, for the first allocation.
func readLines(ctx context.Context, r io.Reader, lines provider.LineRange, limit, hint int64) ([]byte, error) {
	var (
		first  = max(lines.Start, 1)
		line   = 1
		out    []byte
		buf    = make([]byte, readBlock)
		reader = r
	)
	if lines.IsAll() {
		out = make([]byte, 0, min(hint, limit)+1)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := reader.Read(buf)
		block := buf[:n]
		for line < first && len(block) > 0 {
			i := bytes.IndexByte(block, '\n')
			if i < 0 {
				block = nil
				break
			}
			block = block[i+1:]
			line++
		}
		if line >= first {
			done := false
			if lines.End != 0 {
				block, line, done = upTo(block, line, lines.End)
			}
			if int64(len(out))+int64(len(block)) > limit {
				return nil, errTooLarge
			}
			out = append(out, block...)
			if done {
				return out, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// upTo cuts a block, which begins in the given line, behind the end of the
// last line wanted.
func upTo(block []byte, line, last int) (kept []byte, next int, done bool) {
	at := 0
	for {
		i := bytes.IndexByte(block[at:], '\n')
		if i < 0 {
			return block, line, false
		}
		at += i + 1
		line++
		if line > last {
			return block[:at], line, true
		}
	}
}

// openContent is reopen as a file for reading.
func openContent(place int, p string, st *unix.Stat_t) (*os.File, error) {
	fd, err := reopen(place, p, st)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p), nil
}
