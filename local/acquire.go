package local

import (
	"context"
	"net"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/keeper"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
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
	err = s.p.makeRoom(ctx, dir)
	if err == nil {
		err = s.create(ctx, dir, lock)
	}
	if err != nil {
		// A keeper that was killed has left its cgroup, which is named there. What
		// cannot be removed waits for gc; the caller wants to know why he has no
		// sandbox.
		_ = buryLocked(context.WithoutCancel(ctx), dir, lock)
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
		RuntimeDir: s.p.run.Path(), Name: dir.Name(), ID: s.id,
		Source: s.p.source(s.key), Quota: cfg.Local.Quota,
		Tier: cfg.Local.Tier, Net: cfg.Local.Net, Ownership: cfg.Local.Ownership,
		IdleSeconds: int(cfg.Idle().Seconds()),
	})
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
