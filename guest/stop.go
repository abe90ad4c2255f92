package guest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
)

// StopMode says when a guest is to end.
type StopMode int

const (
	// StopNow ends it and everything that runs in it.
	StopNow StopMode = iota
	// StopIfIdle ends it unless something runs in it.
	StopIfIdle
)

// String returns the mode's name on the wire.
func (m StopMode) String() string {
	if m == StopIfIdle {
		return "idle"
	}
	return "now"
}

// handleStop answers when the decision is made; the guest then ends.
func (s *server) handleStop(w http.ResponseWriter, r *http.Request) {
	const op = "stop sandbox"
	var body wireStop
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&body); err != nil {
		s.writeError(w, &provider.Error{Kind: provider.Invalid, Op: op, Reason: "the request is not JSON"})
		return
	}
	switch body.When {
	case StopIfIdle.String():
		if ok, busy := s.activity.drainIfIdle(0); !ok {
			s.writeError(w, &provider.Error{Kind: provider.Conflict, Op: op, Reason: fmt.Sprintf("it is busy with %d calls, commands or jobs", busy), Next: "wait until they end, or stop it now"})
			return
		}
	case StopNow.String():
		s.activity.drain()
		s.endCommands()
	default:
		s.writeError(w, &provider.Error{Kind: provider.Invalid, Op: op, Reason: `"when" is neither "now" nor "idle"`})
		return
	}
	w.Header().Set("Connection", "close")
	s.writeJSON(w, http.StatusOK, struct{}{})
	_ = http.NewResponseController(w).Flush()
	s.activity.end()
}
