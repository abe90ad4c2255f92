package guest

import (
	"net/http"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/provider"
)

// handleAIORead answers text. Lines count from 0, and the end is not
// included.
func (s *server) handleAIORead(w http.ResponseWriter, r *http.Request) {
	var q struct {
		File      string `json:"file"`
		StartLine *int   `json:"start_line"`
		EndLine   *int   `json:"end_line"`
	}
	if !s.decodeAIO(w, r, &q, "file") {
		return
	}
	data := struct {
		Content string `json:"content"`
		File    string `json:"file"`
	}{File: q.File}
	lines, empty := aioLines(q.StartLine, q.EndLine)
	content, err := s.files.Read(r.Context(), q.File, lines)
	switch {
	case err != nil:
		s.writeFileFailure(w, q.File, err)
		return
	case !utf8.Valid(content):
		s.writeFileFailure(w, q.File, &provider.Error{Kind: provider.Invalid, Op: "read file", Path: q.File, Reason: "the file is not UTF-8 text", Next: "download it, or use a command", Err: errDecode})
		return
	case !empty:
		data.Content = string(content)
	}
	s.writeOK(w, data)
}

// aioLines translates a range of AIO's; empty says that it has no line.
func aioLines(start, end *int) (r provider.LineRange, empty bool) {
	if start != nil {
		r.Start = max(*start, 0) + 1
	}
	if end != nil {
		r.End = *end
		if r.End < max(r.Start, 1) {
			return provider.LineRange{Start: 1, End: 1}, true
		}
	}
	return r, false
}
