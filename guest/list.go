package guest

import (
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// wireEntry is a [provider.Entry] on the wire.
type wireEntry struct {
	wirePath
	Type    string `json:"type"`
	Size    int64  `json:"size"`
	Mode    uint32 `json:"mode"`
	ModTime int64  `json:"mtime_ns"`
}

// wireListing is the answer of the list route.
type wireListing struct {
	Entries   []wireEntry `json:"entries"`
	Truncated bool        `json:"truncated,omitempty"`
}

// handleList lists a directory.
func (s *server) handleList(w http.ResponseWriter, r *http.Request) {
	const op = "list directory"
	depth, err := number(op, r, "depth")
	if err != nil {
		s.writeError(w, err)
		return
	}
	most, err := number(op, r, "max")
	if err != nil {
		s.writeError(w, err)
		return
	}
	l, err := s.files.List(r.Context(), query(r, "path"), provider.ListOptions{Depth: depth, MaxEntries: most})
	if err != nil {
		s.writeError(w, err)
		return
	}
	out := wireListing{Entries: make([]wireEntry, len(l.Entries)), Truncated: l.Truncated}
	for i, e := range l.Entries {
		out.Entries[i] = wireEntry{wirePath: toWirePath(e.Path), Type: e.Type, Size: e.Size, Mode: e.Mode, ModTime: e.ModTime}
	}
	s.writeJSON(w, http.StatusOK, out)
}
