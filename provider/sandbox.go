package provider

import (
	"context"
	"io"
)

// Sandbox is a running world for one thread. All paths are virtual: absolute,
// as a command inside would write them. All methods are safe for concurrent
// callers and honour the context; every error is an [*Error].
//
// It is the one wide interface of the project: each method is an operation
// that every provider has. What only some sandboxes can do is a separate
// one-method interface ([Starter], [Describer]).
type Sandbox interface {
	// ID is the string under which the provider finds this sandbox again.
	ID() string

	// Execute runs a command to its end and returns its bounded output. A
	// command that ran is not an error, whatever its exit status; see
	// [Result]. Kinds: invalid, not found (the session), unavailable.
	Execute(ctx context.Context, c Command) (*Result, error)

	// ReadFile returns a regular file's bytes, or those of some lines of it
	// (open, read). Kinds: not found, denied, invalid (a directory, a FIFO),
	// too large (over MaxReadFile without a range).
	ReadFile(ctx context.Context, path string, lines LineRange) ([]byte, error)

	// WriteFile replaces or appends to a file and makes its parents. A
	// replacement is atomic: a reader, or a crash, sees the old content or
	// the new. The mode of an existing file is kept. Kinds: read-only,
	// denied, invalid, quota.
	WriteFile(ctx context.Context, path string, content []byte, mode WriteMode) error

	// UpdateFile writes bytes as the operator, who may write uploads and
	// acp-workspace too; else like WriteFile.
	UpdateFile(ctx context.Context, path string, content []byte) error

	// ReplaceInFile replaces text in a file atomically; no concurrent write
	// of the same sandbox's file calls is lost. Kinds: not found (the file,
	// or with zero matches), conflict (several matches without All),
	// read-only.
	ReplaceInFile(ctx context.Context, path string, r Replacement) (*ReplaceResult, error)

	// DownloadFile streams a regular file below /mnt/user-data. A path with
	// a ".." segment is refused. The caller closes the reader; a transfer
	// that breaks off ends in an error, never in a clean EOF. Kinds: denied,
	// not found, too large (over MaxDownload).
	DownloadFile(ctx context.Context, path string) (io.ReadCloser, error)

	// ListDir lists a directory to a depth (readdir). Kinds: not found,
	// invalid (not a directory).
	ListDir(ctx context.Context, path string, o ListOptions) (*Listing, error)

	// Glob finds paths below a directory by a pattern with "**". Kinds: not
	// found (the root), invalid (the pattern).
	Glob(ctx context.Context, path, pattern string, o GlobOptions) (*GlobResult, error)

	// Grep finds lines below a directory by an RE2 expression. Kinds: not
	// found (the root), invalid (the expression).
	Grep(ctx context.Context, path, pattern string, o GrepOptions) (*GrepResult, error)
}

// Limits of the file calls, in bytes.
const (
	// MaxReadFile bounds what one ReadFile returns.
	MaxReadFile = 16 << 20
	// MaxWriteFile bounds the content of one WriteFile, UpdateFile or
	// ReplaceInFile.
	MaxWriteFile = 64 << 20
	// MaxDownload bounds one DownloadFile.
	MaxDownload = 100 << 20
)

// Starter is a sandbox that can run a command with live streams: the
// command's Stdout and Stderr get every byte, in constant memory.
type Starter interface {
	// Start begins a command. The caller must call [Process.Wait]. An error
	// means that nothing was started. Cancelling ctx ends the command.
	Start(ctx context.Context, c Command) (Process, error)
}

// Process is a started command. Signal and Resize may be called from any
// goroutine until Wait returns.
type Process interface {
	// Wait returns when the command ended and its streams were delivered.
	Wait() (*Result, error)
	// Signal sends a signal, by its Linux number, to the command's process
	// group (kill).
	Signal(number int) error
	// Resize sets the terminal's size (TIOCSWINSZ); an error without a TTY.
	Resize(rows, cols uint16) error
}

// Describer is a sandbox that can tell its state and isolation.
type Describer interface {
	Describe(ctx context.Context) (*Info, error)
}

// LineRange chooses lines, from 1 and inclusive. The zero value is the whole
// file; a zero End is the end of the file.
type LineRange struct{ Start, End int }

// IsAll reports whether the range is the whole file.
func (r LineRange) IsAll() bool { return r == LineRange{} }

// WriteMode says what WriteFile does with an existing file.
type WriteMode int

const (
	// Replace puts the new content in place of the old, atomically.
	Replace WriteMode = iota
	// Append adds the content at the end with O_APPEND.
	Append
)

// Replacement is a text to find, exactly, and what to put in its place.
type Replacement struct {
	Old, New string
	// All replaces every match; without it exactly one match is demanded.
	All bool
}

// ReplaceResult tells what ReplaceInFile did.
type ReplaceResult struct {
	// Count is the number of matches replaced.
	Count int
	// Lines are the line numbers, from 1, at which the matches began.
	Lines []int
}

// ListOptions bound a listing.
type ListOptions struct {
	// Depth is how many levels are listed; 0 means 2, 1 the children alone.
	Depth int
	// MaxEntries bounds the listing; 0 means 10000.
	MaxEntries int
}

// Listing is a directory's content.
type Listing struct {
	Entries []Entry
	// Truncated reports that entries were left out.
	Truncated bool
}

// Entry is one file system object, itself and not what a symlink points to.
type Entry struct {
	// Path is absolute and virtual.
	Path string `json:"path"`
	// Type is "file", "dir", "symlink", "fifo", "socket" or "device".
	Type string `json:"type"`
	// Size is in bytes, for files.
	Size int64 `json:"size"`
	// Mode holds the permission bits, as in stat(2).
	Mode uint32 `json:"mode"`
	// ModTime is in nanoseconds since the epoch.
	ModTime int64 `json:"mtime_ns"`
}

// GlobOptions bound a Glob.
type GlobOptions struct {
	// IncludeDirs also reports directories.
	IncludeDirs bool
	// MaxResults is 200 when 0, and at most 1000.
	MaxResults int
	// NoIgnore also looks into the directories of the ignore list (.git,
	// node_modules and their like).
	NoIgnore bool
}

// GlobResult is what a Glob found, sorted by path.
type GlobResult struct {
	Paths     []string
	Truncated bool
}

// GrepOptions bound a Grep.
type GrepOptions struct {
	// Glob restricts the files searched, by their path below the root.
	Glob string
	// Literal takes the pattern as text, not as an expression.
	Literal bool
	// CaseSensitive distinguishes upper and lower case.
	CaseSensitive bool
	// MaxResults is 100 when 0, and at most 500.
	MaxResults int
	// NoIgnore also looks into the directories of the ignore list.
	NoIgnore bool
}

// GrepResult is what a Grep found, by path and line.
type GrepResult struct {
	Matches []Match
	// Truncated reports that matches were left out.
	Truncated bool
	// BinarySkipped counts the files passed over because they hold a NUL
	// byte.
	BinarySkipped int
	// FilesSearched counts the files read.
	FilesSearched int
}

// Match is one line that Grep found.
type Match struct {
	Path string `json:"path"`
	// Line counts from 1.
	Line int `json:"line"`
	// Text is the line without its end, cut at a rune border after 2000
	// bytes, with invalid UTF-8 replaced.
	Text string `json:"text"`
}
