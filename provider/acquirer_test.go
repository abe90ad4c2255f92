package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// world is the host of the acquire tests: sandboxes by id, as other processes
// see them, and a log of what was done.
type world struct {
	mu      sync.Mutex
	live    map[string]bool
	log     []string
	locks   map[string]*sync.Mutex
	health  map[string]Health // overrides
	findErr error
	create  func(ctx context.Context, id string) error
}

func newWorld() *world {
	return &world{live: map[string]bool{}, locks: map[string]*sync.Mutex{}, health: map[string]Health{}}
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) count(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.log {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func worldID(k mapping.Key) string { return "id-" + k.String() }

func (w *world) options() AcquirerOptions {
	return AcquirerOptions{
		ID: worldID,
		Check: func(_ context.Context, s Sandbox) Health {
			w.mu.Lock()
			defer w.mu.Unlock()
			if h, ok := w.health[s.ID()]; ok {
				return h
			}
			if w.live[s.ID()] {
				return HealthAlive
			}
			return HealthDead
		},
		Find: func(_ context.Context, k mapping.Key) (Sandbox, error) {
			w.note("find %s", k)
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.findErr != nil {
				return nil, w.findErr
			}
			if id := worldID(k); w.live[id] {
				return &stub{id: id}, nil
			}
			return nil, nil
		},
		Lock: func(_ context.Context, k mapping.Key) (func(), error) {
			w.mu.Lock()
			l := w.locks[worldID(k)]
			if l == nil {
				l = &sync.Mutex{}
				w.locks[worldID(k)] = l
			}
			w.mu.Unlock()
			l.Lock()
			return l.Unlock, nil
		},
		Create: func(ctx context.Context, k mapping.Key) (Sandbox, error) {
			id := worldID(k)
			w.note("create %s", k)
			if w.create != nil {
				if err := w.create(ctx, id); err != nil {
					return nil, err
				}
			}
			w.set(func() { w.live[id] = true })
			return &stub{id: id}, nil
		},
		Discard: func(s Sandbox) { w.note("discard %s", s.ID()) },
	}
}

func acquirer(t *testing.T, o AcquirerOptions) *Acquirer {
	t.Helper()
	a, err := NewAcquirer(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustAcquire(t *testing.T, a *Acquirer, thread string) string {
	t.Helper()
	id, err := a.Acquire(t.Context(), mapping.Key{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAcquireCreatesThenUsesTheCache(t *testing.T) {
	w := newWorld()
	a := acquirer(t, w.options())
	first := mustAcquire(t, a, "t")
	finds := w.count("find")
	if second := mustAcquire(t, a, "t"); second != first {
		t.Errorf("two ids for one key: %q, %q", first, second)
	}
	if w.count("create") != 1 || w.count("find") != finds {
		t.Errorf("the second acquire did not use the cache: %q", w.log)
	}
	if s, err := a.Get(first); err != nil || s.ID() != first {
		t.Errorf("Get = %v, %v", s, err)
	}
	if _, err := a.Get("other"); !errors.Is(err, NotFound) {
		t.Errorf("Get of an unknown id: %v, want not found", err)
	}
}

func TestAcquireFindsWhatAnotherProcessMade(t *testing.T) {
	w := newWorld()
	mustAcquire(t, acquirer(t, w.options()), "t")
	mustAcquire(t, acquirer(t, w.options()), "t")
	if w.count("create") != 1 {
		t.Errorf("created %d times, want 1", w.count("create"))
	}
}

func TestAcquireOfManyProcessesCreatesOnce(t *testing.T) {
	w := newWorld()
	w.create = func(context.Context, string) error { return nil }
	var wg sync.WaitGroup
	for range 8 {
		a := acquirer(t, w.options())
		for range 8 {
			wg.Go(func() {
				if _, err := a.Acquire(t.Context(), mapping.Key{Thread: "t"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if w.count("create") != 1 {
		t.Errorf("created %d times, want 1", w.count("create"))
	}
}

func TestAcquireByHealth(t *testing.T) {
	for health, creates := range map[Health]int{HealthAlive: 1, HealthUnknown: 1, HealthDead: 2} {
		t.Run(health.String(), func(t *testing.T) {
			w := newWorld()
			a := acquirer(t, w.options())
			id := mustAcquire(t, a, "t")
			w.set(func() {
				w.health[id] = health
				w.live[id] = health == HealthAlive
			})
			mustAcquire(t, a, "t")
			if w.count("create") != creates {
				t.Errorf("created %d times, want %d", w.count("create"), creates)
			}
			if want := creates - 1; w.count("discard") != want {
				t.Errorf("discarded %d handles, want %d", w.count("discard"), want)
			}
		})
	}
}

func TestAcquireForgetsTheDeadWhateverFollows(t *testing.T) {
	w := newWorld()
	a := acquirer(t, w.options())
	id := mustAcquire(t, a, "t")
	w.set(func() { w.live[id] = false })
	w.create = func(context.Context, string) error { return &Error{Kind: Unavailable} }
	if _, err := a.Acquire(t.Context(), mapping.Key{Thread: "t"}); !errors.Is(err, Unavailable) {
		t.Errorf("got %v, want the error of create", err)
	}
	if _, err := a.Get(id); !errors.Is(err, NotFound) {
		t.Errorf("Get of a dead one: %v, want not found", err)
	}
}

// Somebody made it while this one waited for the lock.
func TestAcquireLooksAgainUnderTheLock(t *testing.T) {
	w := newWorld()
	o := w.options()
	o.Lock = func(context.Context, mapping.Key) (func(), error) {
		w.set(func() { w.live["id-t"] = true })
		return func() { w.note("unlock") }, nil
	}
	mustAcquire(t, acquirer(t, o), "t")
	if w.count("create") != 0 || w.count("find") != 2 || w.count("unlock") != 1 {
		t.Errorf("want two looks, no create and an unlock: %q", w.log)
	}
	o.Lock = func(context.Context, mapping.Key) (func(), error) { return nil, &Error{Kind: Timeout} }
	mustAcquire(t, acquirer(t, o), "t") // what is found needs no lock
	if _, err := acquirer(t, o).Acquire(t.Context(), mapping.Key{Thread: "other"}); !errors.Is(err, Timeout) || w.count("create") != 0 {
		t.Errorf("without the lock: %v, %q; want timeout and no create", err, w.log)
	}
}

func TestAcquireBoundsTheHealthCheck(t *testing.T) {
	w := newWorld()
	o := w.options()
	o.HealthTimeout = time.Millisecond
	a := acquirer(t, o)
	mustAcquire(t, a, "t")
	a.options.Check = func(ctx context.Context, _ Sandbox) Health {
		<-ctx.Done()
		return HealthUnknown
	}
	mustAcquire(t, a, "t")
	if w.count("create") != 1 {
		t.Error("a sandbox that did not answer in time was replaced")
	}
}

func TestAcquireCreatesNothingWhenItCannotLook(t *testing.T) {
	w := newWorld()
	w.findErr = errors.New("the daemon at /var/run/x does not answer")
	_, err := acquirer(t, w.options()).Acquire(t.Context(), mapping.Key{Thread: "t"})
	var e *Error
	if !errors.As(err, &e) || e.Op != "acquire" || e.Thread != "t" || strings.Contains(err.Error(), "/var/run") {
		t.Errorf("got %v, want an error that names acquire and the thread and no host path", err)
	}
	if w.count("create") != 0 {
		t.Error("it was created although it may exist")
	}
}

func TestAcquireKeepsTheKindOfAnError(t *testing.T) {
	w := newWorld()
	w.create = func(context.Context, string) error { return &Error{Kind: Denied, Op: "create", Reason: "no"} }
	a := acquirer(t, w.options())
	for range 2 {
		if _, err := a.Acquire(t.Context(), mapping.Key{User: "u", Thread: "t"}); !errors.Is(err, Denied) || !strings.Contains(err.Error(), "u:t") {
			t.Errorf("got %v, want denied, with the thread", err)
		}
	}
	if w.count("create") != 2 {
		t.Error("a failure was remembered")
	}
}

func TestAcquireRefusesAnInvalidKey(t *testing.T) {
	w := newWorld()
	a := acquirer(t, w.options())
	for _, k := range []mapping.Key{{Thread: "../x"}, {Thread: "a\n"}, {User: "a/b", Thread: "t"}, {User: "a b"}} {
		if _, err := a.Acquire(t.Context(), k); !errors.Is(err, Invalid) {
			t.Errorf("%+v: %v, want invalid", k, err)
		}
	}
	if len(w.log) != 0 {
		t.Errorf("something was done for an invalid key: %q", w.log)
	}
}

func TestAcquireCancelledWaiterLeavesTheWorkToTheOthers(t *testing.T) {
	w := newWorld()
	started, release := make(chan struct{}), make(chan struct{})
	w.create = func(ctx context.Context, _ string) error {
		close(started)
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a := acquirer(t, w.options())
	first, cancelFirst := context.WithCancel(t.Context())
	defer cancelFirst()
	results := make(chan error, 2)
	go func() {
		_, err := a.Acquire(first, mapping.Key{Thread: "t"})
		results <- err
	}()
	<-started
	go func() {
		_, err := a.Acquire(context.WithoutCancel(t.Context()), mapping.Key{Thread: "t"})
		results <- err
	}()
	a.waitFor(t, "id-t", 2)
	cancelFirst()
	if err := <-results; !errors.Is(err, Unavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled one: %v", err)
	}
	close(release)
	if err := <-results; err != nil {
		t.Errorf("the other one: %v", err)
	}
	if w.count("create") != 1 {
		t.Errorf("created %d times, want 1", w.count("create"))
	}
}

func TestAcquireEndsWorkThatNobodyWaitsFor(t *testing.T) {
	w := newWorld()
	started, ended := make(chan struct{}), make(chan struct{})
	w.create = func(ctx context.Context, _ string) error {
		defer close(ended)
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}
	a := acquirer(t, w.options())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if _, err := a.Acquire(ctx, mapping.Key{Thread: "t"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
	w.create = nil
	mustAcquire(t, a, "t")
	if _, err := a.Acquire(ctx, mapping.Key{Thread: "t2"}); !errors.Is(err, context.Canceled) || w.count("create t2") != 0 {
		t.Errorf("with an ended context: %v, %q", err, w.log)
	}
}

// waitFor waits until n callers wait for an id's work.
func (a *Acquirer) waitFor(t *testing.T, id string, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 10_000 {
		a.flights.mu.Lock()
		fl := a.flights.running[id]
		got := 0
		if fl != nil {
			got = fl.waiting
		}
		a.flights.mu.Unlock()
		if got == n {
			return
		}
		<-tick.C
	}
	t.Fatalf("never %d callers waited for %s", n, id)
}

func TestHandlesAreBoundedAndDiscardedOnce(t *testing.T) {
	w := newWorld()
	o := w.options()
	o.Handles = 2
	a := acquirer(t, o)
	for _, thread := range []string{"a", "b", "a", "c"} {
		mustAcquire(t, a, thread)
	}
	if _, err := a.Get("id-b"); !errors.Is(err, NotFound) {
		t.Errorf("the handle used least is still there: %v", err)
	}
	if _, err := a.Get("id-a"); err != nil {
		t.Errorf("the handle used since is gone: %v", err)
	}
	if w.count("discard id-b") != 1 || w.count("discard") != 1 {
		t.Errorf("discards: %q", w.log)
	}
	mustAcquire(t, a, "b")
	if w.count("create b") != 1 {
		t.Error("a sandbox whose handle was evicted was created again, not found")
	}
	a.Forget("id-b")
	a.Forget("id-b")
	a.ForgetAll()
	a.ForgetAll()
	if n := w.count("discard"); n != 4 {
		t.Errorf("%d handles were discarded, want 4 (b, c, b, a): %q", n, w.log)
	}
}

func TestAStaleVerdictDoesNotDropTheSuccessor(t *testing.T) {
	c, err := newHandleCache(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, successor := &stub{id: "x"}, &stub{id: "x"}
	c.add("x", old)
	c.add("x", successor)
	c.dropIf("x", old)
	if s, ok := c.get("x"); !ok || s != successor {
		t.Error("the successor was dropped")
	}
	c.dropIf("x", successor)
	if _, ok := c.get("x"); ok {
		t.Error("the one meant was kept")
	}
}

func TestAReplacedHandleIsDiscarded(t *testing.T) {
	var gone []Sandbox
	c, err := newHandleCache(2, func(s Sandbox) { gone = append(gone, s) })
	if err != nil {
		t.Fatal(err)
	}
	old, successor := &stub{id: "x"}, &stub{id: "x"}
	c.add("x", old)
	c.add("x", old) // found again: still the same
	if len(gone) != 0 {
		t.Error("a handle in use was discarded")
	}
	c.add("x", successor)
	if len(gone) != 1 || gone[0] != old {
		t.Errorf("discarded %v, want the replaced one", gone)
	}
}

// Work that was given up on ends late, and must not take its successor with it.
func TestAbandonedWorkDoesNotHideItsSuccessor(t *testing.T) {
	var f flights
	release := make(chan struct{})
	wait := func(context.Context) error { <-release; return nil }
	abandoned := f.join(t.Context(), "x", wait)
	f.leave("x", abandoned)
	successor := f.join(t.Context(), "x", wait)
	if successor == abandoned {
		t.Fatal("a caller joined work that is given up on")
	}
	f.forget("x", abandoned)
	if f.join(t.Context(), "x", wait) != successor {
		t.Error("the end of abandoned work hid its successor")
	}
	close(release)
	<-abandoned.done
	<-successor.done
}

func TestNewAcquirerRefusesGaps(t *testing.T) {
	for name, change := range map[string]func(o *AcquirerOptions){
		"ID":      func(o *AcquirerOptions) { o.ID = nil },
		"Check":   func(o *AcquirerOptions) { o.Check = nil },
		"Find":    func(o *AcquirerOptions) { o.Find = nil },
		"Lock":    func(o *AcquirerOptions) { o.Lock = nil },
		"Create":  func(o *AcquirerOptions) { o.Create = nil },
		"handles": func(o *AcquirerOptions) { o.Handles = -1 },
		"timeout": func(o *AcquirerOptions) { o.HealthTimeout = -1 },
	} {
		o := newWorld().options()
		change(&o)
		if _, err := NewAcquirer(o); !errors.Is(err, Invalid) {
			t.Errorf("without %s: %v, want invalid", name, err)
		}
	}
}
