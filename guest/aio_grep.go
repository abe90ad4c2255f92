package guest

import (
	"net/http"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

type aioMatch struct {
	File          string   `json:"file"`
	LineNumber    int      `json:"line_number"`
	LineContent   string   `json:"line_content"`
	ContextBefore []string `json:"context_before"`
	ContextAfter  []string `json:"context_after"`
}

type aioGrep struct {
	Path          string     `json:"path"`
	Pattern       string     `json:"pattern"`
	Matches       []aioMatch `json:"matches"`
	MatchCount    int        `json:"match_count"`
	FilesSearched int        `json:"files_searched"`
	FilesMatched  int        `json:"files_matched"`
	Truncated     bool       `json:"truncated"`
}

// handleAIOGrep finds lines by an expression. What is not done here (context
// lines, several lines at once, a page further on) is refused, not ignored.
func (s *server) handleAIOGrep(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Path            string   `json:"path"`
		Pattern         string   `json:"pattern"`
		Include         []string `json:"include"`
		Exclude         []string `json:"exclude"`
		CaseInsensitive bool     `json:"case_insensitive"`
		FixedStrings    bool     `json:"fixed_strings"`
		ContextBefore   int      `json:"context_before"`
		ContextAfter    int      `json:"context_after"`
		MaxResults      int      `json:"max_results"`
		Multiline       bool     `json:"multiline"`
		Offset          int      `json:"offset"`
	}
	if !s.decodeAIO(w, r, &q, "path", "pattern") {
		return
	}
	if len(q.Exclude) > 0 || q.ContextBefore > 0 || q.ContextAfter > 0 || q.Multiline || q.Offset > 0 {
		s.writeFileFailure(w, q.Path, &provider.Error{Kind: provider.Invalid, Op: "grep", Path: q.Path, Reason: "exclude, context lines, multiline and offset are not supported here", Next: "use grep as a command"})
		return
	}
	most := q.MaxResults
	if most <= 0 {
		most = maxGrepResults
	}
	res, err := s.files.Grep(r.Context(), q.Path, q.Pattern, provider.GrepOptions{
		Glob: oneOf(q.Include), Literal: q.FixedStrings, CaseSensitive: !q.CaseInsensitive, MaxResults: most, NoIgnore: true,
	})
	if err != nil {
		s.writeFileFailure(w, q.Path, err)
		return
	}
	data := aioGrep{Path: q.Path, Pattern: q.Pattern, Matches: []aioMatch{}, MatchCount: len(res.Matches), FilesSearched: res.FilesSearched, Truncated: res.Truncated}
	last := ""
	for _, m := range res.Matches {
		if m.Path != last {
			data.FilesMatched++
			last = m.Path
		}
		data.Matches = append(data.Matches, aioMatch{File: m.Path, LineNumber: m.Line, LineContent: m.Text, ContextBefore: []string{}, ContextAfter: []string{}})
	}
	s.writeOK(w, data)
}

// oneOf makes one pattern of several.
func oneOf(patterns []string) string {
	if len(patterns) < 2 {
		return strings.Join(patterns, "")
	}
	return "{" + strings.Join(patterns, ",") + "}"
}

// rfc3339 writes a time with its zone, which AIO's clients need.
func rfc3339(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
