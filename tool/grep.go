package tool

import (
	"context"
	"fmt"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// GrepArguments are those of grep.
type GrepArguments struct {
	Description string `json:"description"`
	Path        string `json:"path"`
	Pattern     string `json:"pattern"`
	// Glob restricts the files that are searched.
	Glob          string `json:"glob,omitempty"`
	Literal       bool   `json:"literal,omitempty"`
	CaseSensitive bool   `json:"case_sensitive,omitempty"`
	// IncludeIgnored also looks into the directories of the ignore list
	// ([provider.IsIgnoredDir]).
	IncludeIgnored bool `json:"include_ignored,omitempty"`
	// MaxResults is 100 where it is not positive, and at most 500.
	MaxResults int `json:"max_results,omitempty"`
}

// GrepResult is what grep found.
type GrepResult struct {
	Path          string  `json:"path"`
	Matches       []Match `json:"matches"`
	Truncated     bool    `json:"truncated"`
	FilesSearched int     `json:"files_searched"`
	BinarySkipped int     `json:"binary_skipped"`

	text string
}

// Match is one line that grep found.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	// Text is the line, cut after 200 characters.
	Text string `json:"text"`
}

// Text implements [Result].
func (r *GrepResult) Text() string { return r.text }

// matchText bounds the text of one match, in characters.
const matchText = 200

// Grep finds lines. Kinds: those of the sandbox's Grep.
func (s *Set) Grep(ctx context.Context, a GrepArguments) (*GrepResult, error) {
	p, err := s.place(NameGrep, a.Path)
	if err != nil {
		return nil, err
	}
	most := within(a.MaxResults, defaultGrep, maxGrep)
	r := &GrepResult{Path: p, Matches: []Match{}}
	err = s.file(ctx, fileCall{NameGrep, a.Description, p, a.Pattern}, func(sandbox provider.Sandbox) (audit.Outcome, error) {
		res, err := sandbox.Grep(ctx, p, a.Pattern, provider.GrepOptions{
			Glob: a.Glob, Literal: a.Literal, CaseSensitive: a.CaseSensitive, MaxResults: most, NoIgnore: a.IncludeIgnored || s.o.NoIgnore,
		})
		if err != nil {
			return audit.Outcome{}, hint(err, map[provider.Kind]string{provider.NotFound: "list " + parent(p) + " with ls to see what is there"})
		}
		r.Truncated, r.FilesSearched, r.BinarySkipped = res.Truncated, res.FilesSearched, res.BinarySkipped
		for _, m := range res.Matches {
			if !s.hides(m.Path) && !isOurs(p, m.Path) {
				r.Matches = append(r.Matches, Match{m.Path, m.Line, clip(m.Text, matchText)})
			}
		}
		r.text = s.foundLines(r, most)
		return audit.Outcome{Bytes: int64(len(r.text)), Truncated: r.Truncated}, nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Set) foundLines(r *GrepResult, most int) string {
	lines := make([]string, len(r.Matches))
	for i, m := range r.Matches {
		lines[i] = fmt.Sprintf("%s:%d: %s", shown(m.Path), m.Line, m.Text)
	}
	text, n := s.findings("match", "matches", "No matches found under ", r.Path, lines, r.Truncated, most)
	if n < len(r.Matches) {
		r.Matches, r.Truncated = r.Matches[:n], true
	}
	if r.BinarySkipped > 0 {
		text += "\n(" + count(r.BinarySkipped, "binary file was", "binary files were") + " not searched)"
	}
	return text
}
