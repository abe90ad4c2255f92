package provider

import (
	"context"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// Limits of an Acquirer, where its options give none.
const (
	// DefaultHandles bounds the handles that one process remembers.
	DefaultHandles = 256
	// DefaultHealthTimeout bounds one health check.
	DefaultHealthTimeout = 5 * time.Second
)

// Health is the answer of a health check. It has three values since a check
// that fails to answer says nothing about the sandbox.
type Health int

const (
	// HealthUnknown is the absence of an answer. The sandbox is kept.
	HealthUnknown Health = iota
	// HealthAlive is a sandbox that answered.
	HealthAlive
	// HealthDead is a sandbox that certainly is no more.
	HealthDead
)

// String returns "unknown", "alive" or "dead".
func (h Health) String() string {
	switch h {
	case HealthAlive:
		return "alive"
	case HealthDead:
		return "dead"
	}
	return "unknown"
}

// AcquirerOptions are what a provider brings to the shared acquire protocol.
// The functions are called without any lock of the Acquirer's held, from any
// goroutine. Sandboxes are compared with ==, so they are pointers.
type AcquirerOptions struct {
	// ID names a key's sandbox: the same in every process, and different for
	// different keys.
	ID func(key mapping.Key) string
	// Check asks a cached sandbox whether it lives, within the context's
	// deadline.
	Check func(ctx context.Context, s Sandbox) Health
	// Find returns the key's running and healthy sandbox, whoever made it, or
	// nil where there certainly is none. An error means that it cannot tell;
	// then none is created. One whose recorded key or home differs is an
	// error of the kind conflict.
	Find func(ctx context.Context, key mapping.Key) (Sandbox, error)
	// Lock keeps everybody else, in this process and in others, from
	// creating the key's sandbox until unlock.
	Lock func(ctx context.Context, key mapping.Key) (unlock func(), err error)
	// Create makes the sandbox and returns it when it is ready. When it
	// fails, or ctx ends, it leaves nothing behind.
	Create func(ctx context.Context, key mapping.Key) (Sandbox, error)
	// Discard lets go of a handle that left the cache; the sandbox lives on.
	// Calls of the handle may be going on. Nil means nothing to do.
	Discard func(s Sandbox)
	// Handles bounds the cache; 0 means DefaultHandles.
	Handles int
	// HealthTimeout bounds one Check; 0 means DefaultHealthTimeout.
	HealthTimeout time.Duration
}

// Acquirer is the acquire protocol that providers share: a cached sandbox that
// does not answer as dead; else one found by name; else one created under a
// lock that other processes see. Concurrent calls for one key do the work
// once, and it goes on as long as one of them waits for it. It is safe for
// concurrent use.
type Acquirer struct {
	options AcquirerOptions
	cache   *handleCache
	flights flights
}

// NewAcquirer returns an Acquirer. Kind: invalid, where a function is missing
// or a limit is negative.
func NewAcquirer(o AcquirerOptions) (*Acquirer, error) {
	if o.ID == nil || o.Check == nil || o.Find == nil || o.Lock == nil || o.Create == nil {
		return nil, &Error{Kind: Invalid, Op: "configure", Reason: "the acquire protocol lacks one of its functions"}
	}
	if o.Handles < 0 || o.HealthTimeout < 0 {
		return nil, &Error{Kind: Invalid, Op: "configure", Reason: "a limit of the acquire protocol is negative"}
	}
	if o.Handles == 0 {
		o.Handles = DefaultHandles
	}
	if o.HealthTimeout == 0 {
		o.HealthTimeout = DefaultHealthTimeout
	}
	cache, err := newHandleCache(o.Handles, o.Discard)
	if err != nil {
		return nil, err
	}
	return &Acquirer{options: o, cache: cache}, nil
}

// Acquire is [Provider.Acquire]. An invalid key is refused before any of the
// provider's functions is called.
func (a *Acquirer) Acquire(ctx context.Context, key mapping.Key) (string, error) {
	if err := key.Validate(); err != nil {
		return "", &Error{Kind: Invalid, Op: "acquire", Reason: err.Error(), Err: err}
	}
	key = key.Normalize()
	if err := ctx.Err(); err != nil {
		return "", acquireError(key, err)
	}
	id := a.options.ID(key)
	if a.cachedLives(ctx, id) {
		return id, nil
	}
	err := a.flights.do(ctx, id, func(ctx context.Context) error { return a.obtain(ctx, id, key) })
	if err != nil {
		return "", acquireError(key, err)
	}
	return id, nil
}

// Get is [Provider.Get]: from memory alone.
func (a *Acquirer) Get(id string) (Sandbox, error) {
	if s, ok := a.cache.get(id); ok {
		return s, nil
	}
	return nil, &Error{Kind: NotFound, Op: "get", Reason: "this process acquired no sandbox of that id", Next: "acquire it again"}
}

// Forget drops the handle of an id, for a provider that ended its sandbox. One
// that is not known is no error.
func (a *Acquirer) Forget(id string) { a.cache.drop(id) }

// ForgetAll drops every handle, for a Reset or Shutdown. Sandboxes live on.
func (a *Acquirer) ForgetAll() { a.cache.dropAll() }

// cachedLives reports whether there is a handle that is not certainly dead,
// and drops one that is.
func (a *Acquirer) cachedLives(ctx context.Context, id string) bool {
	s, ok := a.cache.get(id)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.HealthTimeout)
	defer cancel()
	if a.options.Check(ctx, s) != HealthDead {
		return true
	}
	a.cache.dropIf(id, s)
	return false
}

// obtain is the slow path, run by one goroutine for an id at a time.
func (a *Acquirer) obtain(ctx context.Context, id string, key mapping.Key) error {
	// The one before may have just obtained it.
	if a.cachedLives(ctx, id) {
		return nil
	}
	// Without the lock a failure to look decides nothing: it is repeated.
	if s, err := a.options.Find(ctx, key); err == nil && s != nil {
		a.cache.add(id, s)
		return nil
	}
	unlock, err := a.options.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := a.options.Find(ctx, key)
	if err != nil {
		return err
	}
	if s == nil {
		if s, err = a.options.Create(ctx, key); err != nil {
			return err
		}
	}
	a.cache.add(id, s)
	return nil
}

// acquireError gives any error the operation and the thread.
func acquireError(key mapping.Key, err error) error {
	e := FromErrno("acquire", "", err)
	if e.Thread == "" {
		e.Thread = key.String()
	}
	return e
}
