package hosttree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Sink writes what is copied below a directory. It implements
// [provider.CopySink]; its errors are [*ItemError]s. Files get their item's
// permission bits as far as the umask allows, and never suid or sgid.
type Sink struct {
	root *Dir
	// names and dirs are the directories on the way to the last item.
	names []string
	dirs  []*Dir
	// late are the directories that were made with more rights than they
	// are to have, so that they can be filled.
	late []lateMode
	buf  []byte
}

type lateMode struct {
	dir  []string
	mode uint32
}

// maxLate bounds the directories whose rights are taken away at the end; more
// keep their owner's.
const maxLate = 10_000

// NewSink writes below root, which it takes over.
func NewSink(root *Dir) *Sink { return &Sink{root: root, buf: make([]byte, 256<<10)} }

// Put implements [provider.CopySink].
func (s *Sink) Put(ctx context.Context, item provider.CopyItem, content io.Reader) error {
	op, err := s.put(ctx, item, content)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *ItemError
	if errors.As(err, &known) {
		return err // of what is read
	}
	return &ItemError{Op: op, Path: item.Path, Err: errno(err)}
}

func (s *Sink) put(ctx context.Context, item provider.CopyItem, content io.Reader) (op string, err error) {
	parts, err := split(item.Path)
	if err != nil {
		return "write", err
	}
	if len(parts) > maxDepth {
		return "write", unix.ENAMETOOLONG
	}
	if len(parts) == 0 {
		if item.Type != "dir" {
			return "write", unix.EISDIR
		}
		return "", nil
	}
	parent, err := s.enter(parts[:len(parts)-1])
	if err != nil {
		return "open a directory on the way to", err
	}
	name := parts[len(parts)-1]
	switch item.Type {
	case "dir":
		return "make the directory", s.dir(parent, name, parts, item.Mode)
	case "file":
		return s.file(ctx, parent, name, item, content)
	case "symlink":
		return "make the symlink", parent.Symlink(item.Target, name)
	case "link":
		return "make the link", s.link(parent, name, item.Target)
	}
	return "write", ErrSpecial
}

// enter opens the directory at parts, making what is missing.
func (s *Sink) enter(parts []string) (*Dir, error) {
	n := 0
	for n < len(parts) && n < len(s.names) && parts[n] == s.names[n] {
		n++
	}
	s.leave(n)
	for _, name := range parts[n:] {
		child, _, err := s.at().Make(name, 0o755)
		if err != nil {
			return nil, err
		}
		s.names, s.dirs = append(s.names, name), append(s.dirs, child)
	}
	return s.at(), nil
}

// leave closes all but the first n directories on the way.
func (s *Sink) leave(n int) {
	for _, d := range s.dirs[n:] {
		d.Close()
	}
	s.names, s.dirs = s.names[:n], s.dirs[:n]
}

func (s *Sink) at() *Dir {
	if len(s.dirs) == 0 {
		return s.root
	}
	return s.dirs[len(s.dirs)-1]
}

func (s *Sink) dir(parent *Dir, name string, parts []string, mode uint32) error {
	child, made, err := parent.Make(name, mode&0o777|0o700)
	if err != nil {
		return err
	}
	s.names, s.dirs = append(s.names, name), append(s.dirs, child) // what is in it comes next
	if made && mode&0o700 != 0o700 && len(s.late) < maxLate {
		s.late = append(s.late, lateMode{append([]string(nil), parts...), mode})
	}
	return nil
}

func (s *Sink) file(ctx context.Context, parent *Dir, name string, item provider.CopyItem, content io.Reader) (op string, err error) {
	if err := parent.Writable(name); err != nil {
		return "write", err
	}
	f, err := parent.Create(os.FileMode(item.Mode & 0o777))
	if err != nil {
		return "write", err
	}
	defer f.Discard()
	if content != nil {
		if item.Size >= 0 {
			content = io.LimitReader(content, item.Size) // who appends meanwhile does not keep us for ever
			if !parent.ledger.Fits(item.Size, 0) {
				return "write", unix.EDQUOT // before the half of it is written
			}
		}
		if op, err := s.fill(ctx, f, content); err != nil {
			return op, err
		}
	}
	return "write", f.Commit(name)
}

// fill copies a content; blocks of zeros become holes.
func (s *Sink) fill(ctx context.Context, to *quota.NewFile, from io.Reader) (op string, err error) {
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return "write", err
		}
		n, readErr := io.ReadFull(from, s.buf)
		switch {
		case n == 0:
		case isZero(s.buf[:n]):
			_, err = to.Host().Seek(int64(n), io.SeekCurrent)
		default:
			_, err = to.Write(s.buf[:n])
		}
		size += int64(n)
		switch {
		case err != nil:
			return "write", err
		case errors.Is(readErr, io.EOF), errors.Is(readErr, io.ErrUnexpectedEOF):
			return "write", to.Truncate(size)
		case readErr != nil:
			return "read", readErr
		}
	}
}

// isZero reports whether a block is all zeros.
func isZero(b []byte) bool { return b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1]) }

// link makes another name of a file that lies below the same root.
func (s *Sink) link(parent *Dir, name, target string) error {
	parts, err := split(target)
	if err != nil || len(parts) == 0 {
		return unix.EINVAL
	}
	at := s.root
	for _, part := range parts[:len(parts)-1] {
		next, err := at.Open(part)
		if at != s.root {
			at.Close()
		}
		if err != nil {
			return err
		}
		at = next
	}
	if at != s.root {
		defer at.Close()
	}
	return parent.Link(at, parts[len(parts)-1], name)
}

// Close implements [provider.CopySink].
func (s *Sink) Close() error {
	var errs []error
	for i := len(s.late) - 1; i >= 0; i-- {
		late := s.late[i]
		d, err := s.enter(late.dir)
		if err == nil {
			err = d.take(0o700 &^ late.mode)
		}
		if err != nil {
			errs = append(errs, &ItemError{Op: "change the mode of", Path: strings.Join(late.dir, "/"), Err: errno(err)})
		}
	}
	s.leave(0)
	s.root.Close()
	return errors.Join(errs...)
}

// split cuts an item's path into components.
func split(p string) ([]string, error) {
	if p == "." {
		return nil, nil
	}
	if p == "" {
		return nil, unix.EINVAL
	}
	return hostpath.Split(p)
}
