package guest

import (
	"encoding/json"
	"net/http"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sirupsen/logrus"
)

func (s *server) writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		s.log.WithFields(logrus.Fields{"op": "answer", "error": err}).Error("an answer cannot be encoded")
		status, b = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client that is gone does not need to be told.
	_, _ = w.Write(b)
}

// writeError answers an own route's failure.
func (s *server) writeError(w http.ResponseWriter, err error) {
	s.logInternal(err)
	s.writeJSON(w, provider.KindOf(err).HTTPStatus(), errorBody{toWire(err)})
}

// logInternal logs what the answer does not say.
func (s *server) logInternal(err error) {
	if e := provider.FromErrno("", "", err); e.Kind == provider.Internal {
		s.log.WithFields(logrus.Fields{"op": e.Op, "path": e.Path, "error": e.Err}).Error(e.Reason)
	}
}

// query returns one parameter, with every byte as it was sent.
func query(r *http.Request, name string) string { return r.URL.Query().Get(name) }

// flag reads a parameter that is "1" or absent.
func flag(r *http.Request, name string) bool { return query(r, name) == "1" }
