package tool

import (
	"context"
	"fmt"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// WriteFileArguments are those of write_file.
type WriteFileArguments struct {
	Description string `json:"description"`
	Path        string `json:"path"`
	Content     string `json:"content"`
	// Append adds the content at the end; else it replaces the file.
	Append bool `json:"append,omitempty"`
}

// WriteFileResult is what write_file did.
type WriteFileResult struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Appended bool   `json:"appended"`
}

// Text implements [Result].
func (r *WriteFileResult) Text() string { return "OK" }

// WriteFile writes a file and makes its parents. A write that fails leaves what
// was there. Kinds: those of the sandbox's WriteFile; too large, before the
// sandbox is touched; conflict, where the file must be read first.
func (s *Set) WriteFile(ctx context.Context, a WriteFileArguments) (*WriteFileResult, error) {
	p, err := s.place(NameWriteFile, a.Path)
	if err != nil {
		return nil, err
	}
	if err := s.tooMuch(p, a); err != nil {
		return nil, err
	}
	mode := provider.Replace
	if a.Append {
		mode = provider.Append
	}
	r := &WriteFileResult{Path: p, Bytes: int64(len(a.Content)), Appended: a.Append}
	err = s.file(ctx, fileCall{NameWriteFile, a.Description, p, ""}, func(sandbox provider.Sandbox) (audit.Outcome, error) {
		err := s.changing(ctx, sandbox, p, func() error { return sandbox.WriteFile(ctx, p, []byte(a.Content), mode) })
		return audit.Outcome{Bytes: r.Bytes}, s.writeError(p, err)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// tooMuch refuses what models stall over, with a way to do it.
func (s *Set) tooMuch(p string, a WriteFileArguments) error {
	most := s.o.Limits.WriteBytes
	if most == 0 || len(a.Content) <= most {
		return nil
	}
	next := "write the first part with write_file and add the others with append=true, each within the limit; to change a file use str_replace"
	if a.Append {
		next = "append it in smaller parts"
	}
	return &provider.Error{Kind: provider.TooLarge, Op: NameWriteFile, Path: p, Next: next,
		Reason: fmt.Sprintf("write_file content of %s has %d bytes, more than the limit of %d, and nothing was written", clip(p, 500), len(a.Content), most)}
}

// writeError says what an agent can do about a write that failed.
func (s *Set) writeError(p string, err error) error {
	if err == nil {
		return nil
	}
	e := *provider.FromErrno("", p, err)
	switch e.Kind {
	case provider.Denied:
		e.Reason = "Permission denied writing to file: " + e.Path
	case provider.Conflict, provider.Unavailable, provider.Internal, provider.Timeout:
		return err
	default:
		e.Reason = fmt.Sprintf("Failed to write file '%s': %s", e.Path, e.Reason)
	}
	if e.Kind == provider.ReadOnlyFS {
		e.Next = "write below " + mapping.Workspace + " or " + mapping.Outputs
	}
	return &e
}
