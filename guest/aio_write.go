package guest

import (
	"bytes"
	"encoding/base64"
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// handleAIOWrite replaces a file, or appends to it.
func (s *server) handleAIOWrite(w http.ResponseWriter, r *http.Request) {
	var q struct {
		File            string `json:"file"`
		Content         string `json:"content"`
		Encoding        string `json:"encoding"`
		Append          bool   `json:"append"`
		LeadingNewline  bool   `json:"leading_newline"`
		TrailingNewline bool   `json:"trailing_newline"`
	}
	if !s.decodeAIO(w, r, &q, "file", "content") {
		return
	}
	content := []byte(q.Content)
	switch q.Encoding {
	case "", "utf-8", "raw":
	case "base64":
		var err error
		if content, err = base64.StdEncoding.DecodeString(q.Content); err != nil {
			s.writeFileFailure(w, q.File, &provider.Error{Kind: provider.Invalid, Op: "write file", Path: q.File, Reason: "the content is not base64"})
			return
		}
	default:
		s.writeFileFailure(w, q.File, &provider.Error{Kind: provider.Invalid, Op: "write file", Path: q.File, Reason: "the encoding is none of utf-8, base64 and raw"})
		return
	}
	if q.LeadingNewline {
		content = append([]byte{'\n'}, content...)
	}
	if q.TrailingNewline {
		content = append(content, '\n')
	}
	mode := provider.Replace
	if q.Append {
		mode = provider.Append
	}
	if err := s.files.Write(r.Context(), q.File, bytes.NewReader(content), int64(len(content)), mode); err != nil {
		s.writeFileFailure(w, q.File, err)
		return
	}
	s.writeOK(w, struct {
		File    string `json:"file"`
		Written int    `json:"bytes_written"`
	}{q.File, len(content)})
}
