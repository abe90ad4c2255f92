package provider

import (
	"context"
	"io"
	"os"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// Copier is a provider through which the operator copies files and whole
// directories into a thread and out of it, whether or not its sandbox runs; it
// starts none. Symlinks are copied as text: none is ever followed, neither in
// what is read nor on the way to what is written. Paths are virtual and
// absolute; one with a ".." segment is refused.
type Copier interface {
	// StatPath describes what lies at a path, itself and not what a symlink
	// points to (lstat). Kinds: not found (the thread too, which is not made),
	// denied, invalid.
	StatPath(ctx context.Context, key mapping.Key, path string) (Entry, error)

	// CopyOut puts what lies at a path and everything below it into a sink,
	// parents before what is in them. What cannot be read is left out, and
	// named in the error at the end; an error of the sink ends the copy.
	// The sink stays the caller's. Kinds: not found, denied, invalid.
	CopyOut(ctx context.Context, key mapping.Key, path string, to CopySink) error

	// CopyIn returns a sink that writes into the thread, and makes the thread
	// where it is missing. The paths of its items begin at the virtual root.
	// Only one goroutine may use it.
	CopyIn(ctx context.Context, key mapping.Key) (CopySink, error)
}

// PathLister is a provider that can list a directory of a thread as the
// operator, as [Copier] reads it: not recursively, and in no order. Kinds: those
// of StatPath.
type PathLister interface {
	ListPath(ctx context.Context, key mapping.Key, path string) ([]Entry, error)
}

// DataDirOpener is a provider whose threads have a directory on this host that
// holds all of their data. The caller closes it. Kind: not found.
type DataDirOpener interface {
	OpenDataDir(ctx context.Context, key mapping.Key) (*os.File, error)
}

// CopySink takes what is copied, one item at a time.
type CopySink interface {
	// Put makes one item, with the directories above it that are missing. A
	// file appears under its name when it is complete, in place of what is
	// there, or not at all; a directory stays with what is in it. content is
	// nil but for files and is not kept. Kinds: read-only, denied, quota,
	// invalid (a directory where a file is to go, or the other way round; a
	// symlink on the way).
	Put(ctx context.Context, item CopyItem, content io.Reader) error

	// Close ends the copy. It must be called, once.
	Close() error
}

// CopyItem is one file, directory or symlink that is copied.
type CopyItem struct {
	// Path is relative and clean, and "." for the root of what is copied.
	Path string
	// Type is as in [Entry], and only "file", "dir" or "symlink"; or "link",
	// another name of the file at Target, which archives have.
	Type string
	// Mode holds the permission bits.
	Mode uint32
	// Size is that of a file in bytes; -1 where it is not known before its
	// end.
	Size int64
	// Target is a symlink's text, or the path of a link's file.
	Target string
}
