package hosttree

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// maxDepth bounds how deep a tree is that is read or written: each level holds
// a descriptor.
const maxDepth = 500

// maxLeft bounds how many of the items that were left out are named.
const maxLeft = 10

// ErrSpecial is the cause where something is neither a file, a directory nor a
// symlink.
var ErrSpecial = errors.New("it is neither a file, a directory nor a symlink")

// ErrInside is the cause where a directory would be copied into itself.
var ErrInside = errors.New("a directory cannot be copied into itself")

// ItemError is why one item was not read or not written. Its text has no path
// of the host.
type ItemError struct {
	// Op is what failed: "open", "write".
	Op string
	// Path is the item's, relative to the root of the copy.
	Path string
	// Err is the cause, without a path.
	Err error
}

// Error returns "OP PATH: cause".
func (e *ItemError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }

// LeftOut is what a walk could not read.
type LeftOut struct {
	// Items are the first of them.
	Items []*ItemError
	// More counts the others.
	More int
}

// WalkOptions say what Walk reads.
type WalkOptions struct {
	// Except are directories that are not entered (ErrInside).
	Except []*Dir
}

// Walk puts what is called name in d, or d itself where name is empty, and all
// that is below it into a sink. The item's root has the path ".". What cannot
// be read is left out and told. An error of the sink, or the context's end,
// ends the walk.
func Walk(ctx context.Context, d *Dir, name string, to provider.CopySink, o WalkOptions) (LeftOut, error) {
	w := &walker{ctx: ctx, to: to}
	for _, e := range o.Except {
		var st unix.Stat_t
		if e.f != nil && unix.Fstat(int(e.f.Fd()), &st) == nil {
			w.except = append(w.except, st)
		}
	}
	if name == "" {
		return w.left, w.dir(d, ".", 0)
	}
	err := w.item(d, name, ".", 0)
	return w.left, err
}

type walker struct {
	ctx    context.Context
	to     provider.CopySink
	except []unix.Stat_t
	left   LeftOut
}

// leave notes that an item could not be read.
func (w *walker) leave(op, rel string, err error) error {
	if len(w.left.Items) == maxLeft {
		w.left.More++
		return nil
	}
	w.left.Items = append(w.left.Items, &ItemError{Op: op, Path: rel, Err: errno(err)})
	return nil
}

func (w *walker) item(d *Dir, name, rel string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	st, err := d.Stat(name)
	if err != nil {
		return w.leave("read", rel, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return w.file(d, name, rel)
	case unix.S_IFDIR:
		child, err := d.Open(name)
		if err != nil {
			return w.leave("open", rel, err)
		}
		defer child.Close()
		return w.dir(child, rel, depth)
	case unix.S_IFLNK:
		target, err := d.Readlink(name)
		if err != nil {
			return w.leave("read", rel, err)
		}
		return w.to.Put(w.ctx, provider.CopyItem{Path: rel, Type: "symlink", Mode: 0o777, Target: target}, nil)
	}
	return w.leave("read", rel, ErrSpecial)
}

func (w *walker) file(d *Dir, name, rel string) error {
	f, st, err := d.OpenFile(name)
	if err != nil {
		return w.leave("open", rel, err)
	}
	defer f.Close()
	return w.to.Put(w.ctx, provider.CopyItem{Path: rel, Type: "file", Mode: st.Mode & 0o777, Size: st.Size}, Content(f))
}

func (w *walker) dir(d *Dir, rel string, depth int) error {
	mode := uint32(0o755)
	if d.f != nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(d.f.Fd()), &st); err != nil {
			return w.leave("read", rel, err)
		}
		for _, e := range w.except {
			if e.Dev == st.Dev && e.Ino == st.Ino {
				return w.leave("copy", rel, ErrInside)
			}
		}
		mode = st.Mode & 0o777
	}
	if depth == maxDepth {
		return w.leave("open", rel, unix.ENAMETOOLONG)
	}
	if err := w.to.Put(w.ctx, provider.CopyItem{Path: rel, Type: "dir", Mode: mode}, nil); err != nil {
		return err
	}
	var stop error
	err := d.EachName(func(name string) error {
		stop = w.item(d, name, path.Join(rel, name), depth+1)
		return stop
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return w.leave("read", rel, err)
	}
	return nil
}
