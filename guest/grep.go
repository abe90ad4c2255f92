package guest

import (
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// wireMatch is a [provider.Match] on the wire.
type wireMatch struct {
	wirePath
	Line int    `json:"line"`
	Text string `json:"text"`
}

// wireGrep is the answer of the grep route.
type wireGrep struct {
	Matches       []wireMatch `json:"matches"`
	Truncated     bool        `json:"truncated,omitempty"`
	BinarySkipped int         `json:"binary_skipped,omitempty"`
	FilesSearched int         `json:"files_searched"`
}

// handleGrep finds lines by an expression.
func (s *server) handleGrep(w http.ResponseWriter, r *http.Request) {
	const op = "grep"
	most, err := number(op, r, "max")
	if err != nil {
		s.writeError(w, err)
		return
	}
	res, err := s.files.Grep(r.Context(), query(r, "path"), query(r, "pattern"), provider.GrepOptions{
		Glob: query(r, "glob"), Literal: flag(r, "literal"), CaseSensitive: flag(r, "case"),
		MaxResults: min(most, maxGrepResults), NoIgnore: flag(r, "no_ignore"),
	})
	if err != nil {
		s.writeError(w, err)
		return
	}
	out := wireGrep{Matches: make([]wireMatch, len(res.Matches)), Truncated: res.Truncated, BinarySkipped: res.BinarySkipped, FilesSearched: res.FilesSearched}
	for i, m := range res.Matches {
		out.Matches[i] = wireMatch{wirePath: toWirePath(m.Path), Line: m.Line, Text: m.Text}
	}
	s.writeJSON(w, http.StatusOK, out)
}
