package archive

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Writer writes items as a tar archive in POSIX's pax format. It implements
// [provider.CopySink]. The owner in it is nobody's: who unpacks it owns what
// comes out.
type Writer struct {
	tar *tar.Writer
	now time.Time
}

// NewWriter writes to w; now becomes the time of every item.
func NewWriter(w io.Writer, now time.Time) *Writer { return &Writer{tar: tar.NewWriter(w), now: now} }

// Put implements [provider.CopySink]. A file that turns out shorter than its
// size breaks the archive off.
func (w *Writer) Put(ctx context.Context, item provider.CopyItem, content io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h := &tar.Header{Name: item.Path, Mode: int64(item.Mode), ModTime: w.now, Format: tar.FormatPAX}
	switch item.Type {
	case "dir":
		h.Typeflag, h.Name = tar.TypeDir, item.Path+"/"
	case "symlink":
		h.Typeflag, h.Linkname = tar.TypeSymlink, item.Target
	case "link":
		h.Typeflag, h.Linkname = tar.TypeLink, item.Target
	case "file":
		h.Typeflag, h.Size = tar.TypeReg, item.Size
		if item.Size < 0 {
			return fmt.Errorf("the size of %s is not known", item.Path)
		}
	default:
		return fmt.Errorf("an archive cannot hold %s, a %s", item.Path, item.Type)
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	n, err := io.Copy(w.tar, io.LimitReader(&watched{ctx, content}, item.Size))
	if err == nil && n < item.Size {
		err = fmt.Errorf("%s became shorter while it was copied", item.Path)
	}
	return err
}

// Close implements [provider.CopySink]: it writes the archive's end.
func (w *Writer) Close() error { return w.tar.Close() }

// watched is a reader that ends with a context.
type watched struct {
	ctx context.Context
	r   io.Reader
}

func (w *watched) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(b)
}
