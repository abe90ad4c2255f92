package provider

import "context"

// SetDefaultConfig says what [GetDefault] makes the process-wide provider
// from; without it that is the zero Config. A default that exists already is
// kept: call [ResetDefault] to have it made anew.
func SetDefaultConfig(c Config) { process.setConfig(c) }

// GetDefault returns the process-wide provider and makes it where there is
// none. Concurrent callers get the same one: of several that were made at
// once the first is kept and the others are shut down. A call during a reset
// or a shutdown returns the old one, whole, or a new one. Kinds: those of
// [New].
func GetDefault(ctx context.Context) (Provider, error) { return process.get(ctx) }

// SetDefault makes p the process-wide provider and returns the one before,
// which may be nil and is not shut down: it can be in use. A nil p leaves
// none.
func SetDefault(p Provider) (previous Provider) { return process.set(p) }

// ResetDefault lets the process-wide provider go and calls its Reset where it
// is a [Resetter]. The next GetDefault makes a new one. Without a default it
// does nothing.
func ResetDefault(ctx context.Context) error { return process.reset(ctx) }

// ShutdownDefault lets the process-wide provider go and shuts it down where
// it is a [Shutdowner]. Without a default it does nothing.
func ShutdownDefault(ctx context.Context) error { return process.shutdown(ctx) }

func (r *registry) setConfig(c Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config = c
	r.epoch++ // what is being made from the old one is stale
}

func (r *registry) get(ctx context.Context) (Provider, error) {
	for {
		r.mu.Lock()
		current, config, epoch := r.current, r.config, r.epoch
		r.mu.Unlock()
		if current != nil {
			return current, nil
		}
		made, err := r.construct(ctx, config)
		if err != nil {
			return nil, err
		}
		kept, won := r.install(made, epoch)
		if won {
			return made, nil
		}
		// The context may end with its caller; the loser's resources must not
		// stay because of that. Its error is no concern of a caller that gets
		// another provider.
		_ = shut(context.WithoutCancel(ctx), made)
		if kept != nil {
			return kept, nil
		}
		// A reset, a shutdown or another configuration came while it was
		// made, and it would have brought the old state back: once more.
		if err := ctx.Err(); err != nil {
			return nil, FromErrno("configure", "", err)
		}
	}
}

// install keeps a provider that was made at an epoch. Where it lost, it
// returns the winner, or nil when the epoch has passed.
func (r *registry) install(made Provider, epoch uint64) (kept Provider, won bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.current != nil:
		return r.current, false
	case r.epoch != epoch:
		return nil, false
	}
	r.current = made
	return made, true
}

func (r *registry) set(p Provider) (previous Provider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	previous, r.current = r.current, p
	r.epoch++
	return previous
}

func (r *registry) reset(ctx context.Context) error {
	if p, ok := r.set(nil).(Resetter); ok {
		return p.Reset(ctx)
	}
	return nil
}

func (r *registry) shutdown(ctx context.Context) error { return shut(ctx, r.set(nil)) }

func shut(ctx context.Context, p Provider) error {
	if s, ok := p.(Shutdowner); ok {
		return s.Shutdown(ctx)
	}
	return nil
}
