package guest

import (
	"encoding/json"
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// wireReplace is the body of the replace route.
type wireReplace struct {
	Old []byte `json:"old"`
	New []byte `json:"new"`
	All bool   `json:"all,omitempty"`
}

// wireReplaced is its answer.
type wireReplaced struct {
	Count int   `json:"count"`
	Lines []int `json:"lines"`
}

// handleReplace replaces text in a file.
func (s *server) handleReplace(w http.ResponseWriter, r *http.Request) {
	const op = "replace in file"
	p := query(r, "path")
	var body wireReplace
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReplaceBody)).Decode(&body); err != nil {
		s.writeError(w, &provider.Error{Kind: provider.Invalid, Op: op, Path: p, Reason: "the request is not JSON, or too long", Err: err})
		return
	}
	res, err := s.files.Replace(r.Context(), p, provider.Replacement{Old: string(body.Old), New: string(body.New), All: body.All})
	if err != nil {
		s.writeError(w, err)
		return
	}
	s.writeJSON(w, http.StatusOK, wireReplaced{Count: res.Count, Lines: res.Lines})
}
