package guest

import (
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// handleAIOReplace replaces every match, as that API does. No match is a
// failure: a caller that does not look at the count must not take it for
// done.
func (s *server) handleAIOReplace(w http.ResponseWriter, r *http.Request) {
	var q struct {
		File string `json:"file"`
		Old  string `json:"old_str"`
		New  string `json:"new_str"`
	}
	if !s.decodeAIO(w, r, &q, "file", "old_str", "new_str") {
		return
	}
	res, err := s.files.Replace(r.Context(), q.File, provider.Replacement{Old: q.Old, New: q.New, All: true})
	if err != nil {
		s.writeFileFailure(w, q.File, err)
		return
	}
	s.writeOK(w, struct {
		File     string `json:"file"`
		Replaced int    `json:"replaced_count"`
	}{q.File, res.Count})
}
