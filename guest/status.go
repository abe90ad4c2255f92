package guest

import (
	"maps"
	"net/http"

	"github.com/sandboxfs/sandboxfs/internal/version"
)

// handleStatus tells who this is and what it does. It is no activity: to be
// looked at keeps no guest alive.
func (s *server) handleStatus(w http.ResponseWriter, _ *http.Request) {
	busy, commands, idle := s.activity.look()
	info := s.o.Identity
	info.Sessions, info.Jobs = s.sessions.count()
	info.Commands, info.IdleSeconds = commands, idle.Seconds()
	info.State = "idle"
	if commands > 0 || info.Jobs > 0 {
		info.State = "running"
	}
	if !s.base.hasBash() {
		info.Isolation = maps.Clone(info.Isolation)
		if info.Isolation == nil {
			info.Isolation = map[string]string{}
		}
		info.Isolation["shell"] = "sh, for there is no bash in this sandbox"
	}
	s.writeJSON(w, http.StatusOK, wireStatus{Version: version.Get().Version, Info: info, Busy: busy})
}
