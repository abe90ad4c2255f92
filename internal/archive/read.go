package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

// ErrFormat is the cause where what is read is no tar archive, or is cut off.
var ErrFormat = errors.New("it is not a whole tar archive")

// Read puts what an archive holds into a sink. It returns what it left out,
// device files and the like, by name. Times and owners are not kept.
func Read(ctx context.Context, r io.Reader, to provider.CopySink) (left []string, err error) {
	counted := &counter{r: r}
	in := tar.NewReader(counted)
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && counted.n > 0:
			return left, nil
		case errors.Is(err, io.EOF), errors.Is(err, tar.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
			return left, ErrFormat
		case err != nil:
			return left, err
		}
		item, ok, err := itemOf(h)
		if err != nil {
			return left, err
		}
		if !ok {
			left = append(left, h.Name)
			continue
		}
		if item.Path == "" {
			continue // about the archive itself
		}
		var content io.Reader
		if item.Type == "file" {
			content = in
		}
		if err := to.Put(ctx, item, content); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = ErrFormat
			}
			return left, err
		}
	}
}

// itemOf reads a header. ok is false for what is not put anywhere.
func itemOf(h *tar.Header) (item provider.CopyItem, ok bool, err error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return item, true, nil
	}
	item = provider.CopyItem{Mode: uint32(h.Mode) & 0o777}
	if item.Path, err = inside(h.Name); err != nil {
		return item, false, err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		item.Type, item.Size = "file", h.Size
	case tar.TypeDir:
		item.Type = "dir"
	case tar.TypeSymlink:
		item.Type, item.Target = "symlink", h.Linkname
	case tar.TypeLink:
		item.Type = "link"
		if item.Target, err = inside(h.Linkname); err != nil {
			return item, false, err
		}
	default:
		return item, false, nil
	}
	return item, true, nil
}

// inside cleans a name of an archive. A leading slash is dropped, as tar(1)
// does; ".." is refused.
func inside(name string) (string, error) {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("the archive names %q, which may lead out of the directory", name)
		}
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the archive has a name with a NUL byte")
	}
	return path.Clean(strings.TrimLeft(name, "/")), nil
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
