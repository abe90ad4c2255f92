package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// readBlock is how much of a file is read at once.
const readBlock = 64 << 10

// Open opens a regular file for reading, and nothing else: for a FIFO, a
// socket, a device or a directory the answer is of kind invalid, and nothing
// waited or was triggered. The caller closes the file.
func (f *Files) Open(op, p string) (*os.File, os.FileInfo, error) {
	if err := CheckPath(op, p); err != nil {
		return nil, nil, err
	}
	file, err := openRegular(op, p, unix.AT_FDCWD, p, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, fail(op, p, err)
	}
	return file, info, nil
}

// openRegular opens a regular file for reading by its name in a directory; p
// is its path for errors.
//
// The first look (O_PATH) keeps what is no regular file from being touched.
// The open is then by name again and not by way of the first descriptor: that
// may hold a file which has just been replaced and which the kernel still
// remembers, and only an open by name finds that out. What a command swaps in
// between the two is opened without waiting and closed again.
func openRegular(op, p string, dir int, name string, flags int) (*os.File, error) {
	place, err := openat(dir, name, unix.O_PATH|flags, 0)
	if err != nil {
		return nil, fail(op, p, err)
	}
	err = checkRegular(op, p, place)
	unix.Close(place)
	if err != nil {
		return nil, err
	}
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, fail(op, p, err)
	}
	if err := checkRegular(op, p, fd); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), p), nil
}

func checkRegular(op, p string, fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(op, p, err)
	}
	if err := refuseProc(op, p, fd); err != nil {
		return err
	}
	return wantRegular(op, p, st.Mode)
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

// Read returns a file's bytes, or those of the lines asked for with their
// line ends. What is skipped is not kept in memory. Kinds: not found, denied,
// invalid, too large (over [provider.MaxReadFile], or the lines lie so far
// behind that they are not reached in time).
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
	out, err := readLines(ctx, file, lines, provider.MaxReadFile, max(info.Size(), 0), time.Now().Add(maxRead))
	if errors.Is(err, errTooLarge) {
		return nil, tooLargeToRead(op, p)
	}
	if errors.Is(err, errTooFar) {
		return nil, refuse(provider.TooLarge, op, p, "the lines were not reached within 30 seconds", "use a command, such as tail, sed or grep")
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

// maxRead bounds one read: the lines asked for may lie behind terabytes, and
// a hole costs no more than its length.
const maxRead = 30 * time.Second

var (
	errTooLarge = errors.New("more than the limit")
	errTooFar   = errors.New("the time for one read is over")
)

// readLines copies the lines of a range, at most limit bytes of them. Lines
// end with LF; hint is the size of the whole, for the first allocation.
// It gives up when the time is over.
func readLines(ctx context.Context, r io.Reader, lines provider.LineRange, limit, hint int64, over time.Time) ([]byte, error) {
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
		if time.Now().After(over) {
			return nil, errTooFar
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
