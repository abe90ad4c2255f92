package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// DefaultName is the provider of a Config that names none.
const DefaultName = "local"

// Constructor makes a provider from a configuration whose defaults are
// resolved. It may start helpers of its own, but no sandbox.
type Constructor func(ctx context.Context, c Config) (Provider, error)

// registry holds the constructors by name and the process-wide default. It is
// a type so that tests have their own; the program has one, process.
type registry struct {
	mu      sync.Mutex             // never held while a provider's code runs
	entries map[string]Constructor // by name and by alias
	names   []string               // without the aliases, sorted
	config  Config                 // what the default is made from
	current Provider               // the default, or nil
	epoch   uint64                 // counts the times that the default was let go
}

// process is the only package-level state of this package, as database/sql
// keeps its drivers: constructors are known before main begins.
var process registry

// Register makes a provider available by a name and by aliases, such as the
// class paths under which other programs' configurations know it. A provider's
// package calls it from init. Like [database/sql.Register], it panics on a nil
// constructor and on a name that is taken: both are mistakes in the program.
func Register(name string, aliases []string, construct Constructor) {
	process.register(name, aliases, construct)
}

func (r *registry) register(name string, aliases []string, construct Constructor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if construct == nil {
		panic("provider: Register of " + name + " with a nil constructor")
	}
	if r.entries == nil {
		r.entries = map[string]Constructor{}
	}
	for _, n := range append([]string{name}, aliases...) {
		if n == "" {
			panic("provider: Register with an empty name")
		}
		if _, taken := r.entries[n]; taken {
			panic("provider: Register called twice for " + n)
		}
		r.entries[n] = construct
	}
	r.names = append(r.names, name)
	slices.Sort(r.names)
}

// Names returns the names of the registered providers, sorted, without their
// aliases.
func Names() []string { return process.list() }

func (r *registry) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}

// New makes the provider that c.Use names, after checking the configuration
// and filling in its defaults from this process's environment
// ([Config.Resolve]). The caller shuts it down where it is a [Shutdowner].
// Kinds: invalid (the configuration, or a name that is not registered),
// denied, unavailable.
func New(ctx context.Context, c Config) (Provider, error) { return process.construct(ctx, c) }

func (r *registry) construct(ctx context.Context, c Config) (Provider, error) {
	resolved, err := c.Resolve(ProcessEnvironment())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	construct, ok := r.entries[resolved.Use]
	known := strings.Join(r.names, ", ")
	r.mu.Unlock()
	if !ok {
		return nil, unknownProvider(resolved.Use, known)
	}
	return construct(ctx, resolved)
}

func unknownProvider(name, known string) error {
	e := &Error{Kind: Invalid, Op: "configure", Reason: fmt.Sprintf("there is no provider %q", name)}
	if known == "" {
		e.Next = "import a provider's package, such as github.com/sandboxfs/sandboxfs/local, for its registration"
	} else {
		e.Next = "this program has: " + known
	}
	return e
}
