// Package recorder is an example of a provider of one's own: sandboxes of
// package local whose commands are told to somebody before they start. A real
// one would be a service's client; what it must do is the same, and the suites
// that its test runs say whether it does.
//
// It must not change what a sandbox does. Read next: docs/EMBEDDING.md.
package recorder

import (
	"context"
	"log"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/provider"
)

func init() {
	provider.Register("recorder", nil, func(_ context.Context, c provider.Config) (provider.Provider, error) {
		return New(c, func(id string, c provider.Command) { log.Printf("%s: %q %q", id, c.Argv, c.Script) })
	})
}

// Provider makes sandboxes that record. What it does not define, such as
// listing and stopping, is the local provider's. It is safe for concurrent use.
type Provider struct {
	*local.Provider
	record func(id string, c provider.Command)
}

// New makes a provider that calls record, which must be safe for concurrent
// use, before each command. Kinds: those of [local.New].
func New(c provider.Config, record func(id string, c provider.Command)) (*Provider, error) {
	p, err := local.New(c)
	if err != nil {
		return nil, err
	}
	return &Provider{p, record}, nil
}

// Get returns a sandbox that was acquired, and that records. Kind: not found.
func (p *Provider) Get(id string) (provider.Sandbox, error) {
	s, err := p.Provider.Get(id)
	if err != nil {
		return nil, err
	}
	return &Sandbox{s.(*local.Sandbox), p}, nil
}

// Sandbox is a local sandbox whose commands are recorded. Its file calls, and
// what only some sandboxes can do, are the local one's.
type Sandbox struct {
	*local.Sandbox
	p *Provider
}

// Execute implements [provider.Sandbox].
func (s *Sandbox) Execute(ctx context.Context, c provider.Command) (*provider.Result, error) {
	s.p.record(s.ID(), c)
	return s.Sandbox.Execute(ctx, c)
}

// Start implements [provider.Starter].
func (s *Sandbox) Start(ctx context.Context, c provider.Command) (provider.Process, error) {
	s.p.record(s.ID(), c)
	return s.Sandbox.Start(ctx, c)
}
