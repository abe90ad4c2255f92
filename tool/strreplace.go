package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// StrReplaceArguments are those of str_replace.
type StrReplaceArguments struct {
	Description string `json:"description"`
	Path        string `json:"path"`
	OldStr      string `json:"old_str"`
	NewStr      string `json:"new_str"`
	// ReplaceAll replaces every match; else exactly one is demanded.
	ReplaceAll bool `json:"replace_all,omitempty"`
}

// StrReplaceResult is what str_replace did.
type StrReplaceResult struct {
	Path     string `json:"path"`
	Replaced int    `json:"replaced"`
	// Lines are the lines, from 1, at which the matches began; at most 1000.
	Lines []int `json:"lines"`
}

// Text implements [Result].
func (r *StrReplaceResult) Text() string { return "OK" }

// maxReported bounds the lines in a result.
const maxReported = 1000

// StrReplace replaces a text in a file, atomically and byte for byte. In a file
// whose every line ends with CRLF, line ends of the arguments that are LF are
// taken for CRLF, since that is how a model sees them. Kinds: not found (the
// file, or the text in it), conflict (several matches), and those of
// ReplaceInFile.
func (s *Set) StrReplace(ctx context.Context, a StrReplaceArguments) (*StrReplaceResult, error) {
	p, err := s.place(NameStrReplace, a.Path)
	if err != nil {
		return nil, err
	}
	if a.OldStr == "" {
		return nil, &provider.Error{Kind: provider.Invalid, Op: NameStrReplace, Path: p, Reason: "old_str is empty", Next: "give the text to replace; to add text, replace a line by itself and the new text"}
	}
	r := &StrReplaceResult{Path: p, Lines: []int{}}
	err = s.file(ctx, fileCall{NameStrReplace, a.Description, p, ""}, func(sandbox provider.Sandbox) (audit.Outcome, error) {
		err := s.changing(ctx, sandbox, p, func() error {
			res, err := s.replace(ctx, sandbox, p, provider.Replacement{Old: a.OldStr, New: a.NewStr, All: a.ReplaceAll})
			if err == nil {
				r.Replaced = res.Count
				r.Lines = append(r.Lines, res.Lines[:min(len(res.Lines), maxReported)]...)
			}
			return err
		})
		return audit.Outcome{Bytes: int64(len(a.NewStr) * r.Replaced)}, err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Set) replace(ctx context.Context, sandbox provider.Sandbox, p string, r provider.Replacement) (*provider.ReplaceResult, error) {
	var content []byte // of the file; nil where nobody looked, or it is too large
	if strings.Contains(r.Old+r.New, "\n") && !strings.Contains(r.Old+r.New, "\r") {
		// Whether the file has CRLF must be known before it is changed.
		if content, _ = sandbox.ReadFile(ctx, p, provider.LineRange{}); isCRLF(content) {
			r.Old, r.New = strings.ReplaceAll(r.Old, "\n", "\r\n"), strings.ReplaceAll(r.New, "\n", "\r\n")
		}
	}
	res, err := sandbox.ReplaceInFile(ctx, p, r)
	var e *provider.Error
	if err == nil || !errors.As(err, &e) {
		return res, err
	}
	switch e.Kind {
	case provider.NotFound:
		if content == nil {
			content, _ = sandbox.ReadFile(ctx, p, provider.LineRange{})
		}
		if content == nil { // it is the file that is not there
			return nil, hint(err, map[provider.Kind]string{provider.NotFound: "list " + parent(p) + " with ls, or find the file with glob"})
		}
		return nil, notThere(p, content, r.Old, e)
	case provider.Conflict:
		return nil, hint(err, map[provider.Kind]string{provider.Conflict: "nothing was changed; give more of the lines around the one that is meant, or replace_all=true for all"})
	}
	return nil, s.writeError(p, err)
}

// isCRLF reports whether every line of a text ends with CRLF.
func isCRLF(b []byte) bool {
	n := bytes.Count(b, []byte{'\n'})
	return n > 0 && n == bytes.Count(b, []byte("\r\n"))
}

// notThere says where in the file something like the text is.
func notThere(p string, content []byte, old string, cause error) error {
	e := &provider.Error{Kind: provider.NotFound, Op: NameStrReplace, Path: p, Err: cause,
		Reason: fmt.Sprintf("String to replace not found in file: %s; nothing was changed", clip(p, 500)),
		Next:   "read the file with read_file and give the text exactly as it stands there, white space included"}
	if len(content) == 0 {
		e.Reason, e.Next = fmt.Sprintf("String to replace not found in file: %s is empty", clip(p, 500)), "write it with write_file"
		return e
	}
	near := nearest(string(content), old)
	if near.line == 0 {
		return e
	}
	where := fmt.Sprintf("the nearest text is at line %d", near.line)
	if near.spaces {
		where = fmt.Sprintf("the same text but for its white space is at line %d", near.line)
	}
	e.Next = where + ": `" + clip(near.text, 600) + "`; give old_str exactly as it stands in the file"
	return e
}
