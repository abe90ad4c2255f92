package guest

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

const (
	opSessions     = "list sessions"
	opCloseSession = "close session"
	opJobs         = "list jobs"
	opStopJob      = "stop job"
)

// maxListed bounds the sessions and jobs that a client accepts; a guest's limit
// of processes lies far below.
const maxListed = 10000

// Sessions implements [provider.Sessioner].
func (c *Client) Sessions(ctx context.Context) ([]provider.SessionInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	var w wireSessions
	if err := c.get(ctx, call{op: opSessions, method: http.MethodGet, route: routeSessions, repeatable: true}, &w); err != nil {
		return nil, err
	}
	w.Sessions = w.Sessions[:min(len(w.Sessions), maxListed)]
	for i, s := range w.Sessions {
		w.Sessions[i] = provider.SessionInfo{
			Name: word(s.Name), State: word(s.State), Dir: cleanText(s.Dir), Created: stamp(s.Created),
			IdleSeconds: max(s.IdleSeconds, 0), Commands: max(s.Commands, 0), Jobs: max(s.Jobs, 0),
		}
	}
	return w.Sessions, nil
}

// CloseSession implements [provider.Sessioner].
func (c *Client) CloseSession(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	return c.get(ctx, call{op: opCloseSession, method: http.MethodDelete, route: routeSessions, query: url.Values{"name": {name}}}, &struct{}{})
}

// Jobs implements [provider.JobKeeper].
func (c *Client) Jobs(ctx context.Context) ([]provider.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	var w wireJobs
	if err := c.get(ctx, call{op: opJobs, method: http.MethodGet, route: routeJobs, repeatable: true}, &w); err != nil {
		return nil, err
	}
	w.Jobs = w.Jobs[:min(len(w.Jobs), maxListed)]
	for i, j := range w.Jobs {
		w.Jobs[i] = provider.Job{
			ID: word(j.ID), Session: word(j.Session), PID: max(j.PID, 0), Command: word(j.Command),
			Started: stamp(j.Started), Processes: max(j.Processes, 0),
		}
	}
	return w.Jobs, nil
}

// StopJob implements [provider.JobKeeper].
func (c *Client) StopJob(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	return c.get(ctx, call{op: opStopJob, method: http.MethodDelete, route: routeJobs, query: url.Values{"id": {id}}}, &struct{}{})
}

// stamp is a time that a guest told, "" where it is none.
func stamp(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

// change checks what a guest says of a session.
func change(c *provider.SessionChange) *provider.SessionChange {
	if c == nil {
		return nil
	}
	out := &provider.SessionChange{Reason: cleanText(c.Reason)}
	for _, l := range c.Lost[:min(len(c.Lost), maxIsolation)] {
		out.Lost = append(out.Lost, cleanText(l))
	}
	return out
}
