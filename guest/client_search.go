package guest

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/guest/file"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Bounds of what a search answers, as [provider.GlobOptions] and
// [provider.GrepOptions] promise.
const (
	maxGlobResults = 1000
	maxGrepResults = 500
	maxGrepText    = 3*2000 + 16 // invalid bytes become three
	maxListEntries = 100000
)

// ListDir implements [provider.Sandbox].
func (c *Client) ListDir(ctx context.Context, dir string, o provider.ListOptions) (*provider.Listing, error) {
	const op = "list directory"
	if err := c.check(op, dir, nil); err != nil {
		return nil, err
	}
	q := url.Values{"path": {dir}}
	putNumber(q, "depth", o.Depth)
	putNumber(q, "max", o.MaxEntries)
	var in wireListing
	if err := c.get(ctx, call{op: op, path: dir, method: http.MethodGet, route: routeList, query: q, repeatable: true}, &in); err != nil {
		return nil, err
	}
	if len(in.Entries) > maxListEntries {
		return nil, c.strange(op, dir, "more than it was asked for", nil)
	}
	out := &provider.Listing{Truncated: in.Truncated, Entries: make([]provider.Entry, len(in.Entries))}
	for i, e := range in.Entries {
		if !isBelow(e.text(), dir) || !isEntryType(e.Type) || e.Size < 0 {
			return nil, c.strange(op, dir, "an entry that cannot be", nil)
		}
		out.Entries[i] = provider.Entry{Path: e.text(), Type: e.Type, Size: e.Size, Mode: e.Mode & 0o7777, ModTime: e.ModTime}
	}
	return out, nil
}

// Glob implements [provider.Sandbox].
func (c *Client) Glob(ctx context.Context, dir, pattern string, o provider.GlobOptions) (*provider.GlobResult, error) {
	const op = "glob"
	if err := c.check(op, dir, nil); err != nil {
		return nil, err
	}
	if err := c.checkPattern(op, dir, pattern); err != nil {
		return nil, err
	}
	q := url.Values{"path": {dir}, "pattern": {pattern}}
	putNumber(q, "max", max(o.MaxResults, 0))
	putFlag(q, "dirs", o.IncludeDirs)
	putFlag(q, "no_ignore", o.NoIgnore)
	var in wireGlob
	if err := c.get(ctx, call{op: op, path: dir, method: http.MethodGet, route: routeGlob, query: q, repeatable: true}, &in); err != nil {
		return nil, err
	}
	if len(in.Paths) > maxGlobResults {
		return nil, c.strange(op, dir, "more than it was asked for", nil)
	}
	out := &provider.GlobResult{Truncated: in.Truncated, Paths: make([]string, len(in.Paths))}
	for i, p := range in.Paths {
		if out.Paths[i] = p.text(); !isBelow(out.Paths[i], dir) {
			return nil, c.strange(op, dir, "a path that cannot be", nil)
		}
	}
	return out, nil
}

// Grep implements [provider.Sandbox].
func (c *Client) Grep(ctx context.Context, dir, pattern string, o provider.GrepOptions) (*provider.GrepResult, error) {
	const op = "grep"
	if err := c.check(op, dir, nil); err != nil {
		return nil, err
	}
	if err := c.checkPattern(op, dir, pattern+o.Glob); err != nil {
		return nil, err
	}
	q := url.Values{"path": {dir}, "pattern": {pattern}}
	if o.Glob != "" {
		q.Set("glob", o.Glob)
	}
	putNumber(q, "max", max(o.MaxResults, 0))
	putFlag(q, "literal", o.Literal)
	putFlag(q, "case", o.CaseSensitive)
	putFlag(q, "no_ignore", o.NoIgnore)
	var in wireGrep
	if err := c.get(ctx, call{op: op, path: dir, method: http.MethodGet, route: routeGrep, query: q, repeatable: true}, &in); err != nil {
		return nil, err
	}
	if len(in.Matches) > maxGrepResults {
		return nil, c.strange(op, dir, "more than it was asked for", nil)
	}
	out := &provider.GrepResult{Truncated: in.Truncated, BinarySkipped: max(in.BinarySkipped, 0), FilesSearched: max(in.FilesSearched, 0), Matches: make([]provider.Match, len(in.Matches))}
	for i, m := range in.Matches {
		if p := m.text(); p != path.Clean(dir) && !isBelow(p, dir) || m.Line < 1 || len(m.Text) > maxGrepText {
			return nil, c.strange(op, dir, "a match that cannot be", nil)
		}
		out.Matches[i] = provider.Match{Path: m.text(), Line: m.Line, Text: m.Text}
	}
	return out, nil
}

// check refuses a path that no guest need be asked about, or passes on
// another refusal.
func (c *Client) check(op, p string, err error) error {
	if err == nil {
		err = file.CheckPath(op, p)
	}
	return c.named(err)
}

// checkPattern bounds what goes into the head of a request.
func (c *Client) checkPattern(op, p, pattern string) error {
	if len(pattern) > maxPattern {
		return c.fail(op, p, provider.Invalid, "the pattern is longer than 8 KiB", "give a shorter one", nil)
	}
	return nil
}

// maxPattern keeps the request's head, in which a byte can take three, below
// what the server accepts.
const maxPattern = 8 << 10

// named puts the thread into an error that was made without it.
func (c *Client) named(err error) error {
	if err == nil {
		return nil
	}
	e := provider.FromErrno("", "", err)
	e.Thread = c.o.Thread
	return e
}

// isBelow reports whether a path that a guest sent is a clean one below a
// directory.
func isBelow(p, dir string) bool {
	return path.Clean(p) == p && !strings.ContainsRune(p, 0) && len(p) <= 2*maxPath &&
		strings.HasPrefix(p, strings.TrimSuffix(path.Clean(dir), "/")+"/")
}

// maxPath is PATH_MAX: of the directory asked for, and of what is below it.
const maxPath = 4096

func isEntryType(t string) bool {
	switch t {
	case "file", "dir", "symlink", "fifo", "socket", "device":
		return true
	}
	return false
}
