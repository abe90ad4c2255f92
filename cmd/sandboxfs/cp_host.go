//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/archive"
	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/hosttree"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// hostSource looks at a file of this machine that the operator named. A symlink
// is followed here, and nowhere below: the operator's own word is trusted.
func (j *copyJob) hostSource(from place) (*copySource, error) {
	st, err := os.Stat(from.path)
	if err != nil {
		return nil, err
	}
	src := &copySource{place: from, kind: "file", size: -1, base: from.base()}
	switch {
	case st.IsDir():
		src.kind = "dir"
		src.copy = func(ctx context.Context, to provider.CopySink) error { return j.walkHost(ctx, from, to) }
		return src, nil
	case from.slash || from.contents:
		return nil, fmt.Errorf("%s is not a directory", from.text)
	case st.Mode().IsRegular():
		src.size = st.Size()
	}
	src.copy = func(ctx context.Context, to provider.CopySink) error {
		f, err := os.Open(from.path)
		if err != nil {
			return err
		}
		defer f.Close()
		item := provider.CopyItem{Path: ".", Type: "file", Mode: uint32(st.Mode().Perm()), Size: src.size}
		if st.Mode().IsRegular() {
			return explainHost(from, to.Put(ctx, item, hosttree.Content(f)))
		}
		in, end := interruptReader(ctx, f) // a pipe, such as <(COMMAND)
		defer end()
		item.Mode = 0o666
		return explainHost(from, to.Put(ctx, item, in))
	}
	return src, nil
}

// walkHost copies a directory of this machine. The thread's own data can lie
// in it and is left out, since the copy would never end.
func (j *copyJob) walkHost(ctx context.Context, from place, to provider.CopySink) error {
	f, err := hostpath.Open(from.path)
	if err != nil {
		return err
	}
	dir := hosttree.Plain(f)
	defer dir.Close()
	var o hosttree.WalkOptions
	if own := j.dataDir(ctx, j.to); own != nil {
		defer own.Close()
		o.Except = append(o.Except, own)
	}
	left, err := hosttree.Walk(ctx, dir, "", to, o)
	var errs []error
	for _, item := range left.Items {
		errs = append(errs, fmt.Errorf("%s %s: %w", item.Op, filepath.Join(from.text, item.Path), item.Err))
	}
	if left.More > 0 {
		errs = append(errs, fmt.Errorf("%d more in %s could not be read either", left.More, from.text))
	}
	return errors.Join(append(errs, explainHost(from, err))...)
}

// dataDir opens the host directory of a place's thread, or returns nil.
func (j *copyJob) dataDir(ctx context.Context, p place) *hosttree.Dir {
	opener, ok := j.provider.(provider.DataDirOpener)
	if !ok || !p.inThread {
		return nil
	}
	f, err := opener.OpenDataDir(ctx, p.key)
	if err != nil {
		return nil
	}
	return hosttree.Plain(f)
}

// explainHost names the file of this machine in an error of a sink's or of a
// reader's below it.
func explainHost(p place, err error) error {
	var item *hosttree.ItemError
	var ofThread *provider.Error
	if !errors.As(err, &item) || errors.As(err, &ofThread) {
		return err
	}
	return fmt.Errorf("%s %s: %w", item.Op, p.text, item.Err)
}

// intoHost finds the sink and the name for a copy to this machine, much as
// cp(1) does. A directory that the operator named may be a symlink to one;
// nothing else is followed.
func (j *copyJob) intoHost(ctx context.Context, src *copySource) (provider.CopySink, string, error) {
	to := j.to
	isDir := src.kind == "dir"
	st, err := os.Stat(to.path)
	switch {
	case err == nil && st.IsDir():
		return j.hostSink(ctx, src, to.path, src.base)
	case err == nil && (isDir || j.many || to.slash || to.contents):
		return nil, "", fmt.Errorf("%s is not a directory", to.text)
	case err == nil && st.Mode().IsRegular() && !ofKernel(to.path):
		// A symlink is replaced: an earlier copy may have brought it here.
		return j.hostSink(ctx, src, filepath.Dir(to.path), filepath.Base(to.path))
	case err == nil:
		f, err := os.OpenFile(to.path, os.O_WRONLY|os.O_APPEND, 0) // a device or a pipe
		if err != nil {
			return nil, "", err
		}
		return &streamSink{f}, ".", nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, "", err
	case j.many || to.slash && !isDir:
		return nil, "", fmt.Errorf("%s: no such directory", to.text)
	}
	return j.hostSink(ctx, src, filepath.Dir(to.path), filepath.Base(to.path))
}

// ofKernel reports whether a name is the kernel's for something open, such as
// /dev/stdout: it is written to, and must not be replaced.
func ofKernel(name string) bool {
	name, err := filepath.Abs(name)
	return err == nil && (strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/"))
}

// hostSink opens a directory of this machine to write into.
func (j *copyJob) hostSink(ctx context.Context, src *copySource, dir, name string) (provider.CopySink, string, error) {
	f, err := hostpath.Open(dir)
	if err != nil {
		return nil, "", err
	}
	if src.kind == "dir" {
		if own := j.dataDir(ctx, src.place); own != nil {
			defer own.Close()
			if liesIn(f, own) {
				f.Close()
				return nil, "", fmt.Errorf("%s lies in the thread itself: %w", j.to.text, hosttree.ErrInside)
			}
		}
	}
	return &hostSink{to: hosttree.NewSink(hosttree.Plain(f)), dir: dir}, name, nil
}

// liesIn reports whether dir is, or is below, another directory.
func liesIn(dir *os.File, above *hosttree.Dir) bool {
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	var last unix.Stat_t
	for err == nil {
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		root := st.Dev == last.Dev && st.Ino == last.Ino
		if err != nil || root || above.Same(&st) {
			unix.Close(fd)
			return err == nil && !root
		}
		last = st
		var next int
		next, err = unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = next
	}
	return false
}

// hostSink names the operator's path in what a sink answers.
type hostSink struct {
	to  *hosttree.Sink
	dir string
}

func (s *hostSink) Put(ctx context.Context, item provider.CopyItem, content io.Reader) error {
	return s.explain(s.to.Put(ctx, item, content))
}

func (s *hostSink) Close() error { return s.explain(s.to.Close()) }

func (s *hostSink) explain(err error) error {
	var item *hosttree.ItemError
	if !errors.As(err, &item) {
		return err
	}
	reason := item.Err.Error()
	if errors.Is(err, unix.ENOTDIR) {
		reason = "something that is not a directory is in the way, perhaps a symlink"
	}
	return fmt.Errorf("%s %s: %s", item.Op, printable(filepath.Join(s.dir, item.Path)), reason)
}

// streamSink writes the bytes of the one file that is put.
type streamSink struct{ f *os.File }

func (s *streamSink) Put(ctx context.Context, item provider.CopyItem, content io.Reader) error {
	if item.Type != "file" {
		return fmt.Errorf("a %s cannot be written as bytes", item.Type)
	}
	if item.Size >= 0 {
		content = io.LimitReader(content, item.Size)
	}
	_, err := io.Copy(s.f, content)
	return err
}

func (s *streamSink) Close() error { return s.f.Close() }

// archiveTo writes a directory to standard output as an archive.
func archiveTo(ctx context.Context, src *copySource, m *meter) error {
	w := archive.NewWriter(os.Stdout, time.Now())
	err := src.copy(ctx, &namedSink{to: w, name: src.base, meter: m})
	if err != nil && ctx.Err() != nil {
		return err
	}
	closed := w.Close()
	if err != nil && closed != nil && err.Error() == closed.Error() {
		return err // of the same full disk
	}
	return errors.Join(err, closed)
}
