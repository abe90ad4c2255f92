package guest

import (
	"net/http"
	"strconv"

	"github.com/sandboxfs/sandboxfs/provider"
)

// handleRead answers a file, or lines of it, as bytes.
func (s *server) handleRead(w http.ResponseWriter, r *http.Request) {
	const op = "read file"
	start, err := number(op, r, "start")
	if err != nil {
		s.writeError(w, err)
		return
	}
	end, err := number(op, r, "end")
	if err != nil {
		s.writeError(w, err)
		return
	}
	content, err := s.files.Read(r.Context(), query(r, "path"), provider.LineRange{Start: start, End: end})
	if err != nil {
		s.writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that is gone needs no answer
}
