package plainbox

import (
	"bytes"
	"context"
	"io"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/guest/file"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Sandbox is a directory.
type Sandbox struct {
	id, root string
	files    *file.Files
}

var _ provider.Sandbox = (*Sandbox)(nil)

// ID implements [provider.Sandbox].
func (s *Sandbox) ID() string { return s.id }

func (s *Sandbox) host(p string) string { return s.root + p }

func (s *Sandbox) virtual(p string) string {
	if p = strings.TrimPrefix(p, s.root); p == "" {
		return "/"
	}
	return p
}

// tell takes the host's path out of an error.
func (s *Sandbox) tell(p string, err error) error {
	if err == nil {
		return nil
	}
	e := *provider.FromErrno("", p, err)
	e.Path = p
	return &e
}

func readOnly(op, p string) error {
	if c := path.Clean(p); c == mapping.Uploads || strings.HasPrefix(c, mapping.Uploads+"/") {
		return &provider.Error{Kind: provider.ReadOnlyFS, Op: op, Path: p, Reason: "this directory is read-only", Next: "write elsewhere"}
	}
	return nil
}

// ReadFile implements [provider.Sandbox].
func (s *Sandbox) ReadFile(ctx context.Context, p string, lines provider.LineRange) ([]byte, error) {
	b, err := s.files.Read(ctx, s.host(p), lines)
	return b, s.tell(p, err)
}

// WriteFile implements [provider.Sandbox].
func (s *Sandbox) WriteFile(ctx context.Context, p string, content []byte, mode provider.WriteMode) error {
	if err := readOnly("write file", p); err != nil {
		return err
	}
	return s.UpdateMode(ctx, p, content, mode)
}

// UpdateMode is WriteFile without regard to what is read-only.
func (s *Sandbox) UpdateMode(ctx context.Context, p string, content []byte, mode provider.WriteMode) error {
	return s.tell(p, s.files.Write(ctx, s.host(p), bytes.NewReader(content), int64(len(content)), mode))
}

// UpdateFile implements [provider.Sandbox].
func (s *Sandbox) UpdateFile(ctx context.Context, p string, content []byte) error {
	return s.UpdateMode(ctx, p, content, provider.Replace)
}

// ReplaceInFile implements [provider.Sandbox].
func (s *Sandbox) ReplaceInFile(ctx context.Context, p string, r provider.Replacement) (*provider.ReplaceResult, error) {
	if err := readOnly("replace in file", p); err != nil {
		return nil, err
	}
	res, err := s.files.Replace(ctx, s.host(p), r)
	return res, s.tell(p, err)
}

// DownloadFile implements [provider.Sandbox].
func (s *Sandbox) DownloadFile(_ context.Context, p string) (io.ReadCloser, error) {
	f, _, err := s.files.Open("download file", s.host(p))
	if err != nil {
		return nil, s.tell(p, err)
	}
	return f, nil
}

// ListDir implements [provider.Sandbox].
func (s *Sandbox) ListDir(ctx context.Context, p string, o provider.ListOptions) (*provider.Listing, error) {
	l, err := s.files.List(ctx, s.host(p), o)
	if err != nil {
		return nil, s.tell(p, err)
	}
	for i := range l.Entries {
		l.Entries[i].Path = s.virtual(l.Entries[i].Path)
	}
	return l, nil
}

// Glob implements [provider.Sandbox].
func (s *Sandbox) Glob(ctx context.Context, p, pattern string, o provider.GlobOptions) (*provider.GlobResult, error) {
	r, err := s.files.Glob(ctx, s.host(p), pattern, o)
	if err != nil {
		return nil, s.tell(p, err)
	}
	for i := range r.Paths {
		r.Paths[i] = s.virtual(r.Paths[i])
	}
	return r, nil
}

// Grep implements [provider.Sandbox].
func (s *Sandbox) Grep(ctx context.Context, p, pattern string, o provider.GrepOptions) (*provider.GrepResult, error) {
	r, err := s.files.Grep(ctx, s.host(p), pattern, o)
	if err != nil {
		return nil, s.tell(p, err)
	}
	for i := range r.Matches {
		r.Matches[i].Path = s.virtual(r.Matches[i].Path)
	}
	return r, nil
}
