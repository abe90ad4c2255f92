package guest

import (
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Modes of the write route.
const (
	modeReplace = "replace"
	modeAppend  = "append"
)

// handleWrite puts the body into a file. The length is announced, so that a
// body that breaks off changes nothing.
func (s *server) handleWrite(w http.ResponseWriter, r *http.Request) {
	const op = "write file"
	p := query(r, "path")
	mode := provider.Replace
	switch query(r, "mode") {
	case modeReplace:
	case modeAppend:
		mode = provider.Append
	default:
		s.writeError(w, &provider.Error{Kind: provider.Invalid, Op: op, Path: p, Reason: `"mode" is neither "replace" nor "append"`})
		return
	}
	if r.ContentLength < 0 {
		s.writeError(w, &provider.Error{Kind: provider.Invalid, Op: op, Path: p, Reason: "the length of the content is not announced", Next: "send Content-Length"})
		return
	}
	if err := s.files.Write(r.Context(), p, r.Body, r.ContentLength, mode); err != nil {
		s.writeError(w, err)
		return
	}
	s.writeJSON(w, http.StatusOK, struct{}{})
}
