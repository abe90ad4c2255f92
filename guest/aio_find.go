package guest

import (
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// maxAIOResults bounds what one AIO search answers; that API has no way to
// ask for the rest.
const maxAIOResults = 10000

// handleAIOFind finds files by a pattern.
func (s *server) handleAIOFind(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Path string `json:"path"`
		Glob string `json:"glob"`
	}
	if !s.decodeAIO(w, r, &q, "path", "glob") {
		return
	}
	res, err := s.files.Glob(r.Context(), q.Path, q.Glob, provider.GlobOptions{MaxResults: maxAIOResults, NoIgnore: true})
	if err != nil {
		s.writeFileFailure(w, q.Path, err)
		return
	}
	out := envelope{Success: true, Message: messageOK, Data: struct {
		Path  string   `json:"path"`
		Files []string `json:"files"`
	}{q.Path, notNil(res.Paths)}}
	if res.Truncated {
		hint := "not all is listed; give a narrower pattern"
		out.Hint = &hint
	}
	s.writeJSON(w, http.StatusOK, out)
}

// notNil makes an empty list an empty list in JSON too.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
