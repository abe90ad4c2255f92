package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// GlobArguments are those of glob.
type GlobArguments struct {
	Description string `json:"description"`
	Path        string `json:"path"`
	Pattern     string `json:"pattern"`
	IncludeDirs bool   `json:"include_dirs,omitempty"`
	// IncludeIgnored also looks into the directories of the ignore list
	// ([provider.IsIgnoredDir]).
	IncludeIgnored bool `json:"include_ignored,omitempty"`
	// MaxResults is 200 where it is not positive, and at most 1000.
	MaxResults int `json:"max_results,omitempty"`
}

// GlobResult is what glob found.
type GlobResult struct {
	Path      string   `json:"path"`
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`

	text string
}

// Text implements [Result].
func (r *GlobResult) Text() string { return r.text }

// Defaults and bounds of the searches.
const (
	defaultGlob, maxGlob = 200, 1000
	defaultGrep, maxGrep = 100, 500
)

// within is the default for what is not positive, and the bound for more.
func within(n, byDefault, most int) int {
	if n <= 0 {
		return byDefault
	}
	return min(n, most)
}

// Glob finds files by a pattern. Kinds: those of the sandbox's Glob.
func (s *Set) Glob(ctx context.Context, a GlobArguments) (*GlobResult, error) {
	p, err := s.place(NameGlob, a.Path)
	if err != nil {
		return nil, err
	}
	most := within(a.MaxResults, defaultGlob, maxGlob)
	r := &GlobResult{Path: p, Paths: []string{}}
	err = s.file(ctx, fileCall{NameGlob, a.Description, p, a.Pattern}, func(sandbox provider.Sandbox) (audit.Outcome, error) {
		res, err := sandbox.Glob(ctx, p, a.Pattern, provider.GlobOptions{IncludeDirs: a.IncludeDirs, MaxResults: most, NoIgnore: a.IncludeIgnored || s.o.NoIgnore})
		if err != nil {
			return audit.Outcome{}, hint(err, map[provider.Kind]string{provider.NotFound: "list " + parent(p) + " with ls to see what is there"})
		}
		r.Truncated = res.Truncated
		for _, found := range res.Paths {
			if !s.hides(found) && !isOurs(p, found) {
				r.Paths = append(r.Paths, found)
			}
		}
		r.text = s.foundPaths(r, most)
		return audit.Outcome{Bytes: int64(len(r.text)), Truncated: r.Truncated}, nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Set) foundPaths(r *GlobResult, most int) string {
	lines := make([]string, len(r.Paths))
	for i, p := range r.Paths {
		lines[i] = fmt.Sprintf("%d. %s", i+1, shown(p))
	}
	text, n := s.findings("path", "paths", "No files matched under ", r.Path, lines, r.Truncated, most)
	if n < len(r.Paths) {
		r.Paths, r.Truncated = r.Paths[:n], true
	}
	return text
}

// findings is the answer of a search: a header, lines, and what is missing. It
// also returns how many of the lines are in it.
func (s *Set) findings(one, many, none, dir string, lines []string, truncated bool, most int) (text string, n int) {
	n = len(lines)
	if limit := s.o.Limits.Search; limit > 0 {
		room := limit - 400 - len(dir) // of the header and the last line
		for i, l := range lines {
			if room -= len(l) + 1; room < 0 {
				n = i
				break
			}
		}
	}
	missing := ""
	switch {
	case n < len(lines):
		missing = "Results truncated. The answer would be too long; use a more specific path or pattern."
	case truncated && n >= most:
		missing = "Results truncated. There are more; use a more specific path or pattern, or a greater max_results."
	case truncated:
		missing = "Results truncated. Not everything could be searched: a part may not be read, or the time was over; use a more specific path."
	}
	if n == 0 {
		if missing == "" {
			return none + dir, 0
		}
		return none + dir + "\n" + missing, 0
	}
	header := fmt.Sprintf("Found %s under %s", count(n, one, many), dir)
	if missing != "" {
		header += fmt.Sprintf(" (showing first %d)", n)
		return header + "\n" + strings.Join(lines[:n], "\n") + "\n" + missing, n
	}
	return header + "\n" + strings.Join(lines[:n], "\n"), n
}
