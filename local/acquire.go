package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/keeper"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// pollKeeper is how often a keeper that is neither ready nor gone is looked at.
const pollKeeper = 5 * time.Millisecond

// Acquire finds the key's live sandbox or makes one, and returns its id. Of
// any number of callers, in any number of processes, one makes it. Kinds:
// invalid (an id; nothing is made), conflict (it lives with another tier or
// network than the configuration demands), unavailable (no answer, or what
// the kernel refuses), timeout.
func (p *Provider) Acquire(ctx context.Context, key mapping.Key) (string, error) {
	if err := key.Validate(); err != nil {
		return "", &provider.Error{Kind: provider.Invalid, Op: "acquire", Reason: err.Error()}
	}
	key = key.Normalize()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, acquireTimeout)
		defer cancel()
	}
	s := p.handle(key)
	if err := s.ensure(ctx); err != nil {
		return "", err
	}
	return s.id, nil
}

// handle returns this process's handle of a key.
func (p *Provider) handle(key mapping.Key) *Sandbox {
	id := IDOf(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.handles.Get(id); ok {
		return s
	}
	s := newSandbox(p, id, key)
	p.handles.Add(id, s)
	return s
}

// ensure makes the sandbox live: found and healthy, or made under a lock that
// other processes see.
func (s *Sandbox) ensure(ctx context.Context) error {
	dir := s.p.dir(s.key)
	if dir.Keeper() != 0 {
		switch err := s.health(ctx); {
		case err == nil:
			return nil
		case !isGone(err):
			return s.fail(ctx, err)
		}
	}
	lock, err := dir.Lock(ctx)
	if err != nil {
		return s.fail(ctx, err)
	}
	locked := true
	unlock := func() {
		if locked {
			lock.Unlock()
			locked = false
		}
	}
	defer unlock()
	// Another process may have made it while we waited for the lock. Or a
	// keeper lives without a guest that answers: it is about to go, or its
	// maker was killed and it is about to be ready.
	for dir.Keeper() != 0 {
		err := s.health(ctx)
		if err == nil {
			return nil
		}
		if !isGone(err) {
			return s.fail(ctx, err)
		}
		select {
		case <-ctx.Done():
			return s.fail(ctx, context.Cause(ctx))
		case <-time.After(pollKeeper):
		}
	}
	if err := s.p.makeRoom(ctx, dir); err != nil {
		return s.fail(ctx, err)
	}
	if err := s.create(ctx, dir, lock); err != nil {
		lock.Remove()
		locked = false
		return s.fail(ctx, err)
	}
	// What is kept open leads to the guest before this one, which may not
	// have quite ended.
	s.client.Close()
	return nil
}

func (s *Sandbox) create(ctx context.Context, dir *rundir.Dir, lock *rundir.Lock) error {
	daemon, err := findDaemon()
	if err != nil {
		return err
	}
	cfg := s.p.cfg
	return keeper.Start(ctx, daemon, dir, lock, keeper.Spec{
		RuntimeDir: s.p.run.Path(), Name: dir.Name(), ID: s.id, Key: s.key,
		Home: s.p.home, SkillsDir: cfg.SkillsDir,
		Tier: cfg.Local.Tier, Net: cfg.Local.Net, Ownership: cfg.Local.Ownership,
		IdleSeconds: int(cfg.Idle().Seconds()),
	})
}

// mismatch is a live sandbox that is not to be used by this caller.
type mismatch struct{ err *provider.Error }

func (m mismatch) Error() string { return m.err.Error() }

func (m mismatch) Unwrap() error { return m.err }

// matches refuses a live sandbox of another tier, or one with more network,
// than the configuration demands. One with less is what a caller gets who
// asks for nothing else. What cannot be known is refused too.
func (s *Sandbox) matches(dir *rundir.Dir) error {
	st, err := dir.ReadState()
	if err != nil {
		return mismatch{&provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
			Reason: "the thread's sandbox is running, but its recorded state cannot be read",
			Next:   "stop it first: sandboxfs stop " + s.key.Thread, Err: err}}
	}
	cfg := s.p.cfg.Local
	refuse := func(what, have, want string) error {
		return mismatch{&provider.Error{Kind: provider.Conflict, Op: "acquire", Thread: s.key.String(),
			Reason: fmt.Sprintf("the thread's sandbox is running with %s %q, not %q", what, have, want),
			Next:   fmt.Sprintf("stop it first (sandboxfs stop %s), or do not ask for another %s", s.key.Thread, what)}}
	}
	switch {
	case st.Tier != cfg.Tier:
		return refuse("tier", st.Tier, cfg.Tier)
	case cfg.Net == provider.NetNone && st.Net != provider.NetNone:
		return refuse("net", st.Net, cfg.Net)
	}
	return nil
}

// fail gives an error the operation and the thread.
func (s *Sandbox) fail(ctx context.Context, err error) error {
	var m mismatch
	if errors.As(err, &m) {
		return m.err
	}
	var e *provider.Error
	if errors.As(err, &e) {
		c := *e
		c.Op, c.Thread = "acquire", s.key.String()
		return &c
	}
	if ctx.Err() != nil {
		return &provider.Error{Kind: provider.Timeout, Op: "acquire", Thread: s.key.String(),
			Reason: "the sandbox was not ready in time", Next: "try again, or end it: sandboxfs stop " + s.key.Thread, Err: err}
	}
	var no unix.Errno
	if errors.Is(err, os.ErrClosed) {
		return &provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
			Reason: "the provider was shut down", Next: "make another one", Err: err}
	}
	if errors.As(err, &no) {
		return &provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
			Reason: "the runtime directory cannot be used: " + no.Error(), Next: "look at its space and permissions, or set SANDBOXFS_RUNTIME_DIR to another directory", Err: err}
	}
	return &provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
		Reason: "the sandbox cannot be reached", Next: "end it and try again: sandboxfs stop " + s.key.Thread, Err: err}
}

// dial connects to the guest, and makes sure that it is one that the caller
// may use. A keeper records what it makes before it makes the socket, so the
// record that is read here is of the sandbox that is connected, or of a later
// one: then the connection is dead.
func (s *Sandbox) dial(ctx context.Context) (net.Conn, error) {
	dir := s.p.dir(s.key)
	conn, err := dir.Dial(ctx)
	if err != nil || s.whatever {
		return conn, err
	}
	if err := s.matches(dir); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
