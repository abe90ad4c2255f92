package tool

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// LsArguments are those of ls.
type LsArguments struct {
	Description string `json:"description"`
	Path        string `json:"path"`
	// Depth is how many levels are listed; 0 means 2.
	Depth int `json:"depth,omitempty"`
}

// LsResult is a directory's content.
type LsResult struct {
	Path    string  `json:"path"`
	Entries []Entry `json:"entries"`
	// Truncated reports that entries are left out.
	Truncated bool `json:"truncated"`

	text string
}

// Entry is one object in a listing, itself and not what a symlink points to.
type Entry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	// Size is in bytes, of a file.
	Size int64 `json:"size,omitempty"`
	// Mode holds the permission bits, in octal.
	Mode string `json:"mode,omitempty"`
	// Modified is in RFC 3339.
	Modified string `json:"modified,omitempty"`
}

// Text implements [Result].
func (r *LsResult) Text() string { return r.text }

// maxDepth bounds a listing.
const maxDepth = 100

// Ls lists a directory. What is in directories of the ignore list
// ([provider.IsIgnoredDir]) is left out unless one of them is listed itself.
// Kinds: those of ListDir.
func (s *Set) Ls(ctx context.Context, a LsArguments) (*LsResult, error) {
	dir, err := s.place(NameLs, a.Path)
	if err != nil {
		return nil, err
	}
	if a.Depth < 0 || a.Depth > maxDepth {
		return nil, invalid(NameLs, fmt.Sprintf("depth must be from 1 to %d", maxDepth), "leave it out for 2")
	}
	r := &LsResult{Path: dir, Entries: []Entry{}}
	err = s.file(ctx, fileCall{NameLs, a.Description, dir, ""}, func(sandbox provider.Sandbox) (audit.Outcome, error) {
		list, err := sandbox.ListDir(ctx, dir, provider.ListOptions{Depth: a.Depth})
		if err != nil {
			return audit.Outcome{}, hint(err, map[provider.Kind]string{provider.Invalid: "use read_file to read a file"})
		}
		s.list(r, list)
		return audit.Outcome{Bytes: int64(len(r.text)), Truncated: r.Truncated}, nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Set) list(r *LsResult, list *provider.Listing) {
	r.Truncated = list.Truncated
	var b strings.Builder
	for _, e := range list.Entries {
		if s.hides(e.Path) || isOurs(r.Path, e.Path) || !s.o.NoIgnore && belowIgnored(r.Path, e.Path) {
			continue
		}
		entry := Entry{Path: e.Path, Type: e.Type, Size: e.Size, Mode: fmt.Sprintf("%04o", e.Mode)}
		if e.ModTime != 0 {
			entry.Modified = time.Unix(0, e.ModTime).UTC().Format(time.RFC3339)
		}
		r.Entries = append(r.Entries, entry)
		b.WriteString(shown(e.Path))
		if e.Type == "dir" {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		r.text = "(empty)"
		return
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if list.Truncated {
		text += "\n[truncated: not everything was listed. List a directory below it, or a smaller depth]"
	}
	cut, n := head(text, s.o.Limits.Ls, func(_ string, chars, of int) string {
		return fmt.Sprintf("\n[truncated: showing first %d of %d chars. Use a more specific path, a smaller depth, or glob]", chars, of)
	})
	if n < len(text) {
		r.Truncated = true
		r.Entries = r.Entries[:min(strings.Count(cut[:n], "\n"), len(r.Entries))]
	}
	r.text = cut
}

// shown is a path on a line of its own: what would end the line is escaped.
func shown(p string) string {
	if !strings.ContainsAny(p, "\n\r") {
		return strings.ToValidUTF8(p, "\uFFFD")
	}
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(strings.ToValidUTF8(p, "\uFFFD"))
}

// hint gives an error of one of some kinds another advice.
func hint(err error, advice map[provider.Kind]string) error {
	next, ok := advice[provider.KindOf(err)]
	if !ok {
		return err
	}
	e := *provider.FromErrno("", "", err)
	e.Next = next
	return &e
}

// parent is the directory of a path, for advice.
func parent(p string) string { return path.Dir(path.Clean(p)) }
