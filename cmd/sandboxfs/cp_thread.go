//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/archive"
	"github.com/sandboxfs/sandboxfs/internal/hosttree"
	"github.com/sandboxfs/sandboxfs/provider"
)

// copySource is what is copied, looked at.
type copySource struct {
	place
	// kind is "file", "dir", "symlink" or another type of provider.Entry.
	kind string
	// size is that of a file, -1 where it is not known.
	size int64
	base string
	copy func(ctx context.Context, to provider.CopySink) error
}

// source looks at what is to be copied.
func (j *copyJob) source(ctx context.Context, from place) (*copySource, error) {
	if !from.inThread {
		return j.hostSource(from)
	}
	entry, err := j.copier.StatPath(ctx, from.key, from.path)
	if err != nil {
		return nil, err
	}
	if entry.Type == "symlink" {
		// It would lie under a name of the operator's choice, where the next
		// copy, or he himself, would follow it.
		return nil, fmt.Errorf("%s is a symlink, which is not followed; name what it points to, or copy the directory that it is in", from.text)
	}
	src := &copySource{place: from, kind: entry.Type, size: -1, base: from.base()}
	if entry.Type == "file" {
		src.size = entry.Size
	}
	if (from.slash || from.contents) && entry.Type != "dir" {
		return nil, fmt.Errorf("%s is not a directory", from.text)
	}
	src.copy = func(ctx context.Context, to provider.CopySink) error {
		return j.copier.CopyOut(ctx, from.key, from.path, to)
	}
	return src, nil
}

// intoThread finds the sink and the name for a copy into a thread.
func (j *copyJob) intoThread(ctx context.Context, src *copySource) (provider.CopySink, string, error) {
	name, err := j.nameInThread(ctx, src)
	if err != nil {
		return nil, "", err
	}
	final := path.Clean("/" + name)
	if src.inThread && src.key == j.to.key {
		switch {
		case final == src.path:
			return nil, "", fmt.Errorf("%s would be copied onto itself", src.text)
		case src.kind == "dir" && strings.HasPrefix(final, strings.TrimSuffix(src.path, "/")+"/"):
			return nil, "", fmt.Errorf("%s would be copied into itself: %w", src.text, hosttree.ErrInside)
		}
	}
	return j.sink, name, nil
}

func (j *copyJob) nameInThread(ctx context.Context, src *copySource) (string, error) {
	exists, err := j.lookInThread(ctx)
	if err != nil {
		return "", err
	}
	at := strings.TrimPrefix(j.to.path, "/")
	isDir := src.kind == "dir"
	switch {
	case exists == "dir":
		return path.Join(at, src.base), nil
	case exists == "symlink":
		return "", fmt.Errorf("%s is a symlink, which is not followed; name what it points to", j.to.text)
	case exists != "" && (isDir || j.many || j.to.slash || j.to.contents):
		return "", fmt.Errorf("%s is not a directory", j.to.text)
	case exists == "" && (j.many || (j.to.slash || j.to.contents) && !isDir):
		return path.Join(at, src.base), nil
	}
	return at, nil
}

// lookInThread makes the thread where it is missing and returns the type of
// what lies at the destination, "" for nothing.
func (j *copyJob) lookInThread(ctx context.Context) (string, error) {
	if j.sink == nil {
		sink, err := j.copier.CopyIn(ctx, j.to.key)
		if err != nil {
			return "", err
		}
		j.sink = sink
	}
	entry, err := j.copier.StatPath(ctx, j.to.key, j.to.path)
	if errors.Is(err, provider.NotFound) {
		return "", nil
	}
	return entry.Type, err
}

// fromStream copies standard input: bytes into a file, or an archive into a
// directory.
func (j *copyJob) fromStream(ctx context.Context) error {
	in, end := interruptReader(ctx, os.Stdin)
	defer end()
	exists, err := j.lookInThread(ctx)
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(j.to.path, "/")
	j.meter.begin(path.Base(j.to.path), -1)
	to := &namedSink{to: j.sink, name: at, meter: j.meter}
	if exists != "dir" && !j.to.slash && !j.to.contents {
		if exists == "symlink" {
			return fmt.Errorf("%s is a symlink, which is not followed; name what it points to", j.to.text)
		}
		return to.Put(ctx, provider.CopyItem{Path: ".", Type: "file", Mode: 0o666, Size: -1}, in)
	}
	left, err := archive.Read(ctx, in, to)
	if errors.Is(err, archive.ErrFormat) {
		err = fmt.Errorf("%s is a directory, so standard input must be a tar archive, and %w; for one file give its name: %s",
			j.to.text, archive.ErrFormat, strings.TrimRight(j.to.text, "/.")+"/NAME")
	}
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("%d things in the archive are neither files, directories nor links and were left out, the first %q", len(left), left[0]))
	}
	return err
}

// namedSink gives what is copied its name in the destination, and counts it.
type namedSink struct {
	to    provider.CopySink
	name  string
	meter *meter
}

func (s *namedSink) Put(ctx context.Context, item provider.CopyItem, content io.Reader) error {
	if item.Type == "link" {
		item.Target = path.Join(s.name, item.Target)
	}
	item.Path = path.Join(s.name, item.Path)
	s.meter.item(item.Type)
	if content != nil {
		content = s.meter.reader(content)
	}
	return s.to.Put(ctx, item, content)
}

// Close does nothing: who made the sink closes it.
func (s *namedSink) Close() error { return nil }
