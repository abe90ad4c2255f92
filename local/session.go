package local

import (
	"context"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Find implements [provider.Finder].
func (p *Provider) Find(_ context.Context, key mapping.Key) (provider.Sandbox, error) {
	if err := key.Validate(); err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Op: "find", Reason: err.Error()}
	}
	key = key.Normalize()
	if p.dir(key).Keeper() == 0 {
		return nil, &provider.Error{Kind: provider.NotFound, Op: "find", Thread: key.String(), Reason: "the thread has no live sandbox", Next: "run a command in it first"}
	}
	return anySandbox(p, IDOf(key), key), nil
}

// withSession gives a script the thread's own session where the configuration
// says that its shell is persistent. A program with its arguments stays a
// one-shot, and so does what needs a terminal.
func (s *Sandbox) withSession(c provider.Command) provider.Command {
	if s.p.cfg.Shell == provider.ShellPersistent && c.Session == "" && c.Script != "" && c.TTY == nil {
		c.Session = provider.DefaultSession
	}
	return c
}

// Sessions implements [provider.Sessioner]. It does not start the sandbox: one
// that is not there has none.
func (s *Sandbox) Sessions(ctx context.Context) ([]provider.SessionInfo, error) {
	infos, err := s.client.Sessions(ctx)
	if isGone(err) {
		return nil, nil
	}
	return infos, err
}

// CloseSession implements [provider.Sessioner]. It does not start the sandbox.
func (s *Sandbox) CloseSession(ctx context.Context, name string) error {
	err := s.client.CloseSession(ctx, name)
	if isGone(err) {
		return nil
	}
	return err
}

// Jobs implements [provider.JobKeeper]. It does not start the sandbox: one that
// is not there has none.
func (s *Sandbox) Jobs(ctx context.Context) ([]provider.Job, error) {
	jobs, err := s.client.Jobs(ctx)
	if isGone(err) {
		return nil, nil
	}
	return jobs, err
}

// StopJob implements [provider.JobKeeper]. It does not start the sandbox.
func (s *Sandbox) StopJob(ctx context.Context, id string) error {
	err := s.client.StopJob(ctx, id)
	if isGone(err) {
		return &provider.Error{Kind: provider.NotFound, Op: "stop job", Thread: s.key.String(), Reason: "the thread has no live sandbox, and so no job"}
	}
	return err
}
