package guest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

const (
	// stateLimit bounds status and stop, which never wait for a command.
	stateLimit = 15 * time.Second
	// maxIsolation bounds the entries of the isolation map, and each text.
	maxIsolation = 64
	maxWord      = 256
)

// Describe asks the guest for its state. It keeps no guest alive. Kind:
// unavailable.
func (c *Client) Describe(ctx context.Context) (*provider.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	var st wireStatus
	if err := c.get(ctx, call{op: "describe sandbox", method: http.MethodGet, route: routeStatus, repeatable: true}, &st); err != nil {
		return nil, err
	}
	return c.checkInfo(st.Info), nil
}

// checkInfo takes from a guest only what it can know, in bounds: who it is,
// is for its provider to say.
func (c *Client) checkInfo(in provider.Info) *provider.Info {
	out := provider.Info{
		ID: c.o.ID, Thread: word(in.Thread), User: word(in.User), Provider: word(in.Provider), Created: word(in.Created),
		State: "idle", IdleSeconds: max(in.IdleSeconds, 0), Commands: max(in.Commands, 0),
		Sessions: max(in.Sessions, 0), Jobs: max(in.Jobs, 0),
	}
	if out.ID == "" {
		out.ID = word(in.ID)
	}
	if in.State == "running" {
		out.State = in.State
	}
	if len(in.Isolation) > 0 {
		out.Isolation = make(map[string]string, min(len(in.Isolation), maxIsolation))
		for k, v := range in.Isolation {
			if len(out.Isolation) == maxIsolation {
				break
			}
			out.Isolation[word(k)] = word(v)
		}
	}
	return &out
}

// word cleans and cuts a short text.
func word(s string) string {
	if len(s) > maxWord {
		s = s[:maxWord]
	}
	return cleanText(s)
}

// Stop ends the guest: now, with all that runs in it, or only if it has
// nothing to do (else the error is of kind conflict). It returns when the
// guest has decided; the end follows. One that does not listen any more is an
// error of kind unavailable that wraps [ErrNotStarted].
func (c *Client) Stop(ctx context.Context, m StopMode) error {
	const op = "stop sandbox"
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	body, err := json.Marshal(wireStop{When: m.String()})
	if err != nil {
		return c.fail(op, "", provider.Internal, "the request cannot be made", "", err)
	}
	return c.get(ctx, call{op: op, method: http.MethodPost, route: routeStop, body: body}, &struct{}{})
}
