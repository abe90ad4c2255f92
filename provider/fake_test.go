package provider

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// stub is a sandbox with an identity alone.
type stub struct {
	Sandbox
	id string
}

func (s *stub) ID() string { return s.id }

// fakeProvider counts what is asked of it.
type fakeProvider struct {
	acquired, released, resets, shutdowns atomic.Int32

	acquire func(ctx context.Context, key mapping.Key) (string, error) // nil: the key's text

	mu    sync.Mutex
	known map[string]*stub
}

func (f *fakeProvider) Acquire(ctx context.Context, key mapping.Key) (string, error) {
	f.acquired.Add(1)
	id := key.String()
	if f.acquire != nil {
		var err error
		if id, err = f.acquire(ctx, key); err != nil {
			return "", err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[string]*stub{}
	}
	f.known[id] = &stub{id: id}
	return id, nil
}

func (f *fakeProvider) Get(id string) (Sandbox, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.known[id]; ok {
		return s, nil
	}
	return nil, &Error{Kind: NotFound, Op: "get"}
}

func (f *fakeProvider) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = nil
}

func (f *fakeProvider) Release(context.Context, string) error { f.released.Add(1); return nil }
func (f *fakeProvider) Reset(context.Context) error           { f.resets.Add(1); return nil }
func (f *fakeProvider) Shutdown(context.Context) error        { f.shutdowns.Add(1); return nil }
