package provider

import (
	"context"
	"fmt"
	"sync"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// Turn holds the sandbox of one turn of an agent's loop: none until something
// needs one, then one, released at the end. Between turns the agent's state
// stores [Turn.ID]. All methods are safe for concurrent callers, such as tool
// calls that run side by side.
type Turn struct {
	provider Provider
	key      mapping.Key
	options  TurnOptions

	gate chan struct{} // holds one token while somebody acquires or releases

	mu       sync.Mutex
	id       string
	released bool // After released id, and nobody used it since
}

// TurnOptions configure a Turn.
type TurnOptions struct {
	// StoredID is the id from the agent's state, or empty.
	StoredID string
	// Eager makes Before acquire; else the first Ensure does.
	Eager bool
	// Borrowed marks a sandbox that another turn owns, such as the parent's
	// of a sub-agent or of a fork: After does not release it.
	Borrowed bool
}

// NewTurn begins a turn of the key's thread. It acquires nothing.
func NewTurn(p Provider, key mapping.Key, o TurnOptions) *Turn {
	return &Turn{provider: p, key: key.Normalize(), options: o, id: o.StoredID, gate: make(chan struct{}, 1)}
}

// Before acquires the sandbox of an eager turn; of another it does nothing.
// Kinds: those of [Provider.Acquire].
func (t *Turn) Before(ctx context.Context) error {
	if !t.options.Eager {
		return nil
	}
	_, err := t.Ensure(ctx)
	return err
}

// Ensure returns the turn's sandbox and acquires it where there is none yet,
// or where the provider no longer knows the stored id: it ended, or this is
// another process. Concurrent calls acquire once. Kinds: those of
// [Provider.Acquire].
func (t *Turn) Ensure(ctx context.Context) (Sandbox, error) {
	if s, ok, err := t.held(); ok || err != nil {
		return s, err
	}
	if err := t.enter(ctx); err != nil {
		return nil, err
	}
	defer t.leave()
	// Another call may have acquired it while this one waited.
	if s, ok, err := t.held(); ok || err != nil {
		return s, err
	}
	lost := t.ID()
	id, err := t.provider.Acquire(ctx, t.key)
	if err != nil {
		return nil, err
	}
	s, err := t.provider.Get(id)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.id != lost { // adopted meanwhile
		if _, err := MergeIDs(t.id, id); err != nil {
			return nil, err
		}
	}
	t.id, t.released = id, false
	return s, nil
}

// held returns the sandbox of the id that the turn has, if the provider knows
// it. An error other than that it does not is returned.
func (t *Turn) held() (s Sandbox, ok bool, err error) {
	id := t.ID()
	if id == "" {
		return nil, false, nil
	}
	s, err = t.provider.Get(id)
	switch {
	case err == nil:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.released = false
		return s, true, nil
	case KindOf(err) == NotFound:
		return nil, false, nil
	}
	return nil, false, err
}

// Adopt records an id that arrived in the agent's state after the turn began,
// from a parallel branch for instance. Kind: conflict, by [MergeIDs].
func (t *Turn) Adopt(id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	merged, err := MergeIDs(t.id, id)
	if err != nil {
		return err
	}
	t.id, t.released = merged, false
	return nil
}

// ID returns the id to store in the agent's state; empty while there is none.
func (t *Turn) ID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.id
}

// Key returns the thread that the turn is of.
func (t *Turn) Key() mapping.Key { return t.key }

// After releases the sandbox, if the turn has one that is not borrowed. It
// lives on until it is idle too long, and ID stays, for the next turn. A second
// call does nothing.
func (t *Turn) After(ctx context.Context) error {
	if t.options.Borrowed {
		return nil
	}
	if err := t.enter(ctx); err != nil {
		return err
	}
	defer t.leave()
	t.mu.Lock()
	id, done := t.id, t.released
	t.mu.Unlock()
	if id == "" || done {
		return nil
	}
	if err := t.provider.Release(ctx, id); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = t.id == id
	return nil
}

// enter waits for the gate: a mutex that a context can give up on, since a
// slow Acquire is behind it.
func (t *Turn) enter(ctx context.Context) error {
	select {
	case t.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		e := FromErrno("acquire", "", ctx.Err())
		e.Thread = t.key.String()
		return e
	}
}

func (t *Turn) leave() { <-t.gate }

// MergeIDs combines the ids of two versions of one agent's state: an empty one
// gives way, equal ones are one, and two different ones are refused, since
// each could hold work that the other lacks. Kind: conflict.
func MergeIDs(current, update string) (string, error) {
	switch {
	case update == "" || update == current:
		return current, nil
	case current == "":
		return update, nil
	}
	return "", &Error{Kind: Conflict, Op: "merge sandbox ids",
		Reason: fmt.Sprintf("one state names two sandboxes, %q and %q", current, update),
		Next:   "give each branch of the agent a thread of its own, or make all use the first"}
}
