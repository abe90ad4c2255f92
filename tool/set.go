package tool

import (
	"context"
	"maps"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Set is the tools of one thread. The first call acquires the sandbox; without
// a call none is made. It is safe for concurrent use, as agents call tools side
// by side. There is nothing to close; the turn stays the caller's.
type Set struct {
	turn  *provider.Turn
	o     Options
	env   map[string]string // of every command
	marks *marks            // nil unless reading before writing is asked for

	// progressEvery is the time between two reports of progress.
	progressEvery time.Duration
}

// New returns the tools of a turn's thread. Kind: invalid, for options that
// contradict each other.
func New(turn *provider.Turn, o Options) (*Set, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	s := &Set{turn: turn, o: o, env: hostEnv(o.HostEnv, o.Environ), progressEvery: 2 * time.Second}
	maps.Copy(s.env, o.Env)
	if o.ReadBeforeWrite {
		s.marks = newMarks()
	}
	return s, nil
}

// ID returns the sandbox's id, for the caller's state; it is empty until a tool
// was called. The turn refuses two different ids in one state
// ([provider.MergeIDs]).
func (s *Set) ID() string { return s.turn.ID() }

// Key returns the thread.
func (s *Set) Key() mapping.Key { return s.turn.Key() }

// begin acquires the sandbox and takes a call past the audit.
//
// What is blocked makes no sandbox.
func (s *Set) begin(ctx context.Context, c audit.Call) (provider.Sandbox, *pass, error) {
	if s.o.Audit != nil && s.o.Audit.Blocks(c) {
		p, err := s.admit(ctx, c)
		if err == nil { // the rules have changed in between
			err = invalid(c.Tool, "the rules about commands have just changed", "try again")
			p.failed(ctx, err)
		}
		return nil, nil, err
	}
	sandbox, err := s.turn.Ensure(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.admit(ctx, c)
	return sandbox, p, err
}

// admit takes a call past the audit.
func (s *Set) admit(ctx context.Context, c audit.Call) (*pass, error) {
	p := &pass{}
	if s.o.Audit == nil {
		return p, nil
	}
	c.Key, c.Sandbox, c.Provider, c.Origin = s.turn.Key(), s.turn.ID(), s.o.Provider, s.o.Origin
	entry, err := s.o.Audit.Begin(ctx, c)
	if err != nil {
		if entry != nil && entry.Judgement.Verdict == audit.Block {
			return nil, &DeniedError{Err: err, Rule: entry.Judgement.Rule, Reason: entry.Judgement.Reason, Part: entry.Judgement.Part}
		}
		return nil, err
	}
	p.entry = entry
	if entry.Judgement.Verdict == audit.Warn {
		p.warning = &Warning{Rule: entry.Judgement.Rule, Reason: entry.Judgement.Reason, Part: entry.Judgement.Part}
	}
	return p, nil
}

// pass is a call that the audit let through. Its end is recorded once.
type pass struct {
	entry   *audit.Entry
	warning *Warning
}

// What follows is written when a call has ended. That it cannot be written
// changes nothing any more; verifying the log shows it.

// ended records how a command ended.
func (p *pass) ended(ctx context.Context, res *provider.Result, live int64) {
	if p.entry != nil {
		_ = p.entry.End(ctx, res, live)
	}
}

// failed records that a call failed.
func (p *pass) failed(ctx context.Context, why error) {
	if p.entry != nil {
		_ = p.entry.Fail(ctx, why)
	}
}

// done records how a call that is no command ended.
func (p *pass) done(ctx context.Context, o audit.Outcome) {
	if p.entry != nil {
		_ = p.entry.Done(ctx, o)
	}
}
