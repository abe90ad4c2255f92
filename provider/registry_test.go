package provider

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

var deerFlow = []string{
	"deerflow.sandbox.local:LocalSandboxProvider",
	"deerflow.sandbox.local.local_sandbox_provider:LocalSandboxProvider",
}

func newRegistry(t *testing.T, construct Constructor) *registry {
	t.Helper()
	t.Setenv("SANDBOXFS_HOME", "/nowhere")
	r := &registry{}
	r.register("local", deerFlow, construct)
	return r
}

func TestConstructByNameAndAlias(t *testing.T) {
	var got Config
	r := newRegistry(t, func(_ context.Context, c Config) (Provider, error) {
		got = c
		return &fakeProvider{}, nil
	})
	for _, name := range append([]string{"", "local"}, deerFlow...) {
		got = Config{}
		p, err := r.construct(t.Context(), Config{Use: name})
		if err != nil || p == nil {
			t.Errorf("%q: %v", name, err)
		}
		if got.Home != "/nowhere" || got.Local.Tier != TierIsolated {
			t.Errorf("%q: the constructor got an unresolved configuration %+v", name, got)
		}
	}
}

func TestConstructRefusesAnUnknownName(t *testing.T) {
	r := newRegistry(t, func(context.Context, Config) (Provider, error) { return &fakeProvider{}, nil })
	r.register("aio", []string{"deerflow.community.aio_sandbox:AioSandboxProvider"}, func(context.Context, Config) (Provider, error) { return nil, nil })
	_, err := r.construct(t.Context(), Config{Use: "loacl"})
	if !errors.Is(err, Invalid) || !strings.Contains(err.Error(), `"loacl"`) || !strings.Contains(err.Error(), "aio, local") {
		t.Errorf("got %v, want invalid with the name and the known ones", err)
	}
	if got := r.list(); !slices.Equal(got, []string{"aio", "local"}) {
		t.Errorf("the names are %v", got)
	}
	_, err = (&registry{}).construct(t.Context(), Config{})
	if !errors.Is(err, Invalid) || !strings.Contains(err.Error(), "import") {
		t.Errorf("without any provider: %v, want invalid and the cure", err)
	}
	called := false
	r.register("x", nil, func(context.Context, Config) (Provider, error) { called = true; return nil, nil })
	if _, err := r.construct(t.Context(), Config{Use: "x", IdleTimeout: 1, Home: "relative"}); !errors.Is(err, Invalid) || called {
		t.Errorf("an invalid configuration: %v, constructor called: %v", err, called)
	}
}

func TestRegisterPanicsOnMistakes(t *testing.T) {
	ok := func(context.Context, Config) (Provider, error) { return nil, nil }
	for name, register := range map[string]func(r *registry){
		"nil":           func(r *registry) { r.register("a", nil, nil) },
		"empty":         func(r *registry) { r.register("", nil, ok) },
		"empty alias":   func(r *registry) { r.register("a", []string{""}, ok) },
		"twice":         func(r *registry) { r.register("local", nil, ok) },
		"alias taken":   func(r *registry) { r.register("a", []string{"local"}, ok) },
		"alias as name": func(r *registry) { r.register(deerFlow[0], nil, ok) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, ok)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			register(r)
		})
	}
}

func TestDefaultIsMadeOnceOnDemand(t *testing.T) {
	var mu sync.Mutex
	var made []*fakeProvider
	const callers = 16
	started := make(chan struct{}, callers)
	release := make(chan struct{})
	r := newRegistry(t, func(context.Context, Config) (Provider, error) {
		started <- struct{}{}
		<-release // every caller is in the race
		p := &fakeProvider{}
		mu.Lock()
		defer mu.Unlock()
		made = append(made, p)
		return p, nil
	})
	got := make([]Provider, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			p, err := r.get(t.Context())
			if err != nil {
				t.Error(err)
			}
			got[i] = p
		})
	}
	for range callers {
		<-started
	}
	close(release)
	wg.Wait()
	for _, p := range got {
		if p != got[0] {
			t.Fatal("two callers have different defaults")
		}
	}
	if len(made) != callers {
		t.Fatalf("%d were made; the test wants all %d in the race", len(made), callers)
	}
	for _, p := range made {
		want := int32(1)
		if p == got[0] {
			want = 0
		}
		if p.shutdowns.Load() != want {
			t.Errorf("shut down %d times, want %d (winner: %v)", p.shutdowns.Load(), want, p == got[0])
		}
	}
}

func TestDefaultErrorIsNotKept(t *testing.T) {
	fail := true
	r := newRegistry(t, func(context.Context, Config) (Provider, error) {
		if fail {
			return nil, &Error{Kind: Unavailable, Op: "configure"}
		}
		return &fakeProvider{}, nil
	})
	if _, err := r.get(t.Context()); !errors.Is(err, Unavailable) {
		t.Fatalf("got %v, want the constructor's error", err)
	}
	fail = false
	if _, err := r.get(t.Context()); err != nil {
		t.Errorf("after the cause is gone: %v", err)
	}
}

func TestDefaultSetResetShutdown(t *testing.T) {
	r := newRegistry(t, func(context.Context, Config) (Provider, error) { return &fakeProvider{}, nil })
	ctx := t.Context()
	if err := errors.Join(r.reset(ctx), r.shutdown(ctx)); err != nil {
		t.Fatalf("without a default: %v", err)
	}
	mine := &fakeProvider{}
	if old := r.set(mine); old != nil {
		t.Errorf("there was a default before: %v", old)
	}
	if p, _ := r.get(ctx); p != mine {
		t.Error("get does not return what was set")
	}
	other := &fakeProvider{}
	if old := r.set(other); old != mine || mine.shutdowns.Load() != 0 {
		t.Error("set must return the old default and leave it running")
	}
	for range 2 { // idempotent
		if err := r.reset(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if other.resets.Load() != 1 || other.shutdowns.Load() != 0 {
		t.Errorf("reset %d times, shut down %d times; want 1, 0", other.resets.Load(), other.shutdowns.Load())
	}
	third, err := r.get(ctx)
	if err != nil || third == other {
		t.Errorf("after a reset: %v, %v; want a new one", third, err)
	}
	for range 2 {
		if err := r.shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := third.(*fakeProvider).shutdowns.Load(); n != 1 {
		t.Errorf("shut down %d times, want 1", n)
	}
}

// A provider that is being made while the configuration is reset must not
// bring the old one back.
func TestDefaultResetDuringConstruction(t *testing.T) {
	constructing, release := make(chan struct{}), make(chan struct{})
	var stale *fakeProvider
	r := newRegistry(t, func(_ context.Context, c Config) (Provider, error) {
		p := &fakeProvider{}
		if c.Home == "/old" {
			stale = p
			close(constructing)
			<-release
		}
		return p, nil
	})
	r.setConfig(Config{Home: "/old"})
	got := make(chan Provider, 1)
	go func() {
		p, err := r.get(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		got <- p
	}()
	<-constructing
	r.setConfig(Config{Home: "/new"})
	if err := r.reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(release)
	if p := <-got; p == stale {
		t.Error("get returned a provider of the old configuration")
	}
	if stale.shutdowns.Load() != 1 {
		t.Errorf("the stale one was shut down %d times, want 1", stale.shutdowns.Load())
	}
}

// The same without a reset: what is being made when the configuration changes
// is stale, what exists already is kept.
func TestDefaultConfigChangesDuringConstruction(t *testing.T) {
	var r *registry
	var homes []string
	r = newRegistry(t, func(_ context.Context, c Config) (Provider, error) {
		if homes = append(homes, c.Home); len(homes) == 1 {
			r.setConfig(Config{Home: "/new"})
		}
		return &fakeProvider{}, nil
	})
	r.setConfig(Config{Home: "/old"})
	p, err := r.get(t.Context())
	if err != nil || !slices.Equal(homes, []string{"/old", "/new"}) {
		t.Errorf("made from %q, %v; want the old, and anew from the new", homes, err)
	}
	r.setConfig(Config{Home: "/newer"})
	if again, err := r.get(t.Context()); err != nil || again != p {
		t.Errorf("a default that exists was replaced: %v", err)
	}
}

// The lock is not held while a provider's code runs.
func TestDefaultOutsideTheLock(t *testing.T) {
	r := newRegistry(t, func(context.Context, Config) (Provider, error) { return &fakeProvider{}, nil })
	r.set(&reentrant{get: func() (Provider, error) { return r.get(t.Context()) }})
	if err := r.reset(t.Context()); err != nil {
		t.Errorf("get during reset: %v", err)
	}
	r.set(&reentrant{get: func() (Provider, error) { return r.get(t.Context()) }})
	if err := r.shutdown(t.Context()); err != nil {
		t.Errorf("get during shutdown: %v", err)
	}
}

// reentrant asks for the default while it is let go of.
type reentrant struct {
	fakeProvider
	get func() (Provider, error)
}

func (r *reentrant) again() error {
	p, err := r.get()
	if err == nil && (p == nil || p == Provider(r)) {
		return errors.New("it got nothing, or what is being let go of")
	}
	return err
}
func (r *reentrant) Reset(context.Context) error    { return r.again() }
func (r *reentrant) Shutdown(context.Context) error { return r.again() }

func TestProcessWideDefault(t *testing.T) {
	mine := &fakeProvider{}
	old := SetDefault(mine)
	t.Cleanup(func() { SetDefault(old) })
	if p, err := GetDefault(t.Context()); err != nil || p != mine {
		t.Errorf("GetDefault = %v, %v", p, err)
	}
	if err := errors.Join(ResetDefault(t.Context()), ShutdownDefault(t.Context())); err != nil {
		t.Error(err)
	}
	if mine.resets.Load() != 1 || mine.shutdowns.Load() != 0 {
		t.Error("reset lets go of the default; a shutdown after it has nothing to do")
	}
}
