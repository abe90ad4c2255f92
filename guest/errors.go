package guest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

// ErrNotStarted is wrapped by a client's error where the call certainly had
// no effect: nobody listened, or the guest is ending and took no more. It is
// safe to acquire the sandbox again and repeat the call. A call that only
// reads is always safe to repeat, so its broken connections wrap it too.
var ErrNotStarted = errors.New("the sandbox did not start the call")

// wireError is a [provider.Error] on the wire.
type wireError struct {
	Kind   provider.Kind `json:"kind"`
	Op     string        `json:"op,omitempty"`
	Path   []byte        `json:"path,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Next   string        `json:"next,omitempty"`
	// NotStarted says that the call had no effect and may be repeated with
	// another guest.
	NotStarted bool `json:"not_started,omitempty"`
}

// errorBody is the answer of an own route that failed. Its presence tells an
// own 404 from that of a server which does not have the route.
type errorBody struct {
	Error *wireError `json:"error"`
}

func toWire(err error) *wireError {
	e := provider.FromErrno("", "", err)
	return &wireError{
		Kind: e.Kind, Op: e.Op, Path: []byte(e.Path), Reason: e.Reason, Next: e.Next,
		NotStarted: errors.Is(err, ErrNotStarted),
	}
}

// maxErrorText bounds each text of an error that a guest sends.
const maxErrorText = 4 << 10

// fromWire makes an error of what a guest sent. The operation is the
// client's word, the kind is one that exists, the texts are bounded and
// printable.
func (w *wireError) fromWire(op, thread, path string) error {
	e := &provider.Error{Kind: w.Kind, Op: op, Thread: thread, Path: path, Reason: cleanText(w.Reason), Next: cleanText(w.Next)}
	if !isKind(e.Kind) {
		e.Kind = provider.Internal
	}
	if w.NotStarted {
		e.Err = ErrNotStarted
	}
	return e
}

func isKind(k provider.Kind) bool {
	for _, known := range provider.Kinds() {
		if k == known {
			return true
		}
	}
	return false
}

// cleanText keeps a guest's words from moving a terminal's cursor or filling
// a log.
func cleanText(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// decodeError reads an error from a body, nil where it holds none.
func decodeError(body []byte) *wireError {
	var b errorBody
	if json.Unmarshal(body, &b) != nil {
		return nil
	}
	return b.Error
}
