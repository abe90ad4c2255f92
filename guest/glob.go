package guest

import (
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// wireGlob is the answer of the glob route.
type wireGlob struct {
	Paths     []wirePath `json:"paths"`
	Truncated bool       `json:"truncated,omitempty"`
}

// handleGlob finds paths by a pattern.
func (s *server) handleGlob(w http.ResponseWriter, r *http.Request) {
	const op = "glob"
	most, err := number(op, r, "max")
	if err != nil {
		s.writeError(w, err)
		return
	}
	res, err := s.files.Glob(r.Context(), query(r, "path"), query(r, "pattern"), provider.GlobOptions{
		IncludeDirs: flag(r, "dirs"), MaxResults: min(most, maxGlobResults), NoIgnore: flag(r, "no_ignore"),
	})
	if err != nil {
		s.writeError(w, err)
		return
	}
	out := wireGlob{Paths: make([]wirePath, len(res.Paths)), Truncated: res.Truncated}
	for i, p := range res.Paths {
		out.Paths[i] = toWirePath(p)
	}
	s.writeJSON(w, http.StatusOK, out)
}
