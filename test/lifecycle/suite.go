package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// DefaultDeadline bounds each case, where the options give no deadline.
const DefaultDeadline = 2 * time.Minute

// Options are what the suite needs from a provider's test.
type Options struct {
	// New makes a provider. All that it makes within one case share the
	// host: data, runtime directory, daemon. Each stands for a program of its
	// own. The suite shuts it down.
	New func(t testing.TB) provider.Provider
	// AcquireElsewhere acquires a key in another process, with the same host,
	// and returns its id. Nil skips the case.
	AcquireElsewhere func(ctx context.Context, key mapping.Key) (id string, err error)
	// Traces lists what exists on the host because sandboxes were made:
	// directories, containers. Nil leaves out the check that a refused call
	// made nothing.
	Traces func() ([]string, error)
	// Crash ends the sandbox of a key as a crash does, without its
	// provider's knowledge. Nil skips the case.
	Crash func(ctx context.Context, key mapping.Key) error
	// Hidden are texts that no error may show, such as the data directory.
	Hidden []string
	// Deadline bounds each case; 0 means DefaultDeadline.
	Deadline time.Duration
}

// Case is one test of the suite.
type Case struct {
	// Name is a word or two without spaces.
	Name string
	// Run fails t where the provider breaks the contract.
	Run func(t testing.TB, o Options)
}

// Run runs every case as a subtest.
func Run(t *testing.T, o Options) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, o) })
	}
}

// Cases returns the suite's cases.
func Cases() []Case {
	var all []Case
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"AcquireTwice", acquireTwice},
		{"ThreadsDiffer", threadsDiffer},
		{"UsersDiffer", usersDiffer},
		{"GenericKey", genericKey},
		{"InvalidKey", invalidKey},
		{"UnknownID", unknownID},
		{"ConcurrentAcquire", concurrentAcquire},
		{"ConcurrentThreads", concurrentThreads},
		{"AnotherProgram", anotherProgram},
		{"AnotherProcess", anotherProcess},
		{"GetAfterRelease", getAfterRelease},
		{"ReleaseIsIdempotent", releaseIsIdempotent},
		{"StopThenAcquire", stopThenAcquire},
		{"StopIsIdempotent", stopIsIdempotent},
		{"StopDuringAcquire", stopDuringAcquire},
		{"List", list},
		{"Reset", reset},
		{"Shutdown", shutdown},
		{"CancelledContext", cancelledContext},
		{"Crash", crash},
		{"Turn", turn},
	} {
		all = append(all, Case{c.name, func(t testing.TB, o Options) { c.run(newSuite(t, o)) }})
	}
	return all
}

// suite is one case's test, options and context.
type suite struct {
	testing.TB
	options Options
	ctx     context.Context
	run     string // part of the names of this case's threads
}

func newSuite(t testing.TB, o Options) *suite {
	t.Helper()
	if o.New == nil {
		t.Fatal("lifecycle: Options.New is nil")
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	ctx, cancel := context.WithTimeout(t.Context(), o.Deadline)
	t.Cleanup(cancel)
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails
	return &suite{TB: t, options: o, ctx: ctx, run: hex.EncodeToString(random[:])}
}

// provider makes a provider that is shut down with the case.
func (s *suite) provider() provider.Provider {
	s.Helper()
	p := s.options.New(s.TB)
	if p == nil {
		s.Fatal("Options.New returned no provider")
	}
	s.Cleanup(func() {
		if sd, ok := p.(provider.Shutdowner); ok {
			ctx, cancel := s.afterwards()
			defer cancel()
			if err := sd.Shutdown(ctx); err != nil {
				s.Errorf("shutdown at the end: %v", err)
			}
		}
	})
	return p
}

// afterwards is a context for cleanups, when the case's own is over.
func (s *suite) afterwards() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(s.ctx), s.options.Deadline)
}

// key returns the key of a thread of this case's own, which is stopped with
// the case.
func (s *suite) key(p provider.Provider, user, thread string) mapping.Key {
	s.Helper()
	k := mapping.Key{User: user, Thread: "lc-" + s.run + "-" + thread}
	s.Cleanup(func() {
		if stopper, ok := p.(provider.Stopper); ok {
			ctx, cancel := s.afterwards()
			defer cancel()
			if err := stopper.Stop(ctx, k); err != nil {
				s.Errorf("stop %s at the end: %v", k, err)
			}
		}
	})
	return k
}

func (s *suite) acquire(p provider.Provider, k mapping.Key) string {
	s.Helper()
	id, err := p.Acquire(s.ctx, k)
	if err != nil {
		s.Fatalf("acquire %q: %v", k, err)
	}
	if id == "" {
		s.Fatalf("acquire %q: the id is empty", k)
	}
	return id
}

// live acquires a key and returns its sandbox.
func (s *suite) live(p provider.Provider, k mapping.Key) provider.Sandbox {
	s.Helper()
	id := s.acquire(p, k)
	sb, err := p.Get(id)
	if err != nil {
		s.Fatalf("get %q right after acquiring it: %v", id, err)
	}
	if sb.ID() != id {
		s.Fatalf("get %q returned the sandbox %q", id, sb.ID())
	}
	return sb
}

// note is a file that tells one sandbox's data from another's.
const note = mapping.Workspace + "/lifecycle-note"

func (s *suite) write(sb provider.Sandbox, text string) {
	s.Helper()
	if err := sb.WriteFile(s.ctx, note, []byte(text), provider.Replace); err != nil {
		s.Fatalf("%s does not work: %v", sb.ID(), err)
	}
}

func (s *suite) wantNote(sb provider.Sandbox, want string) {
	s.Helper()
	got, err := sb.ReadFile(s.ctx, note, provider.LineRange{})
	if err != nil || string(got) != want {
		s.Errorf("%s holds %q, %v; want %q", sb.ID(), got, err, want)
	}
}

func (s *suite) wantNoNote(sb provider.Sandbox) {
	s.Helper()
	got, err := sb.ReadFile(s.ctx, note, provider.LineRange{})
	if provider.KindOf(err) != provider.NotFound {
		s.Errorf("%s holds another sandbox's file: %q, %v; want not found", sb.ID(), got, err)
	}
}

// wantKind demands an error of ours, of one of the kinds.
func (s *suite) wantKind(err error, what string, kinds ...provider.Kind) {
	s.Helper()
	if err == nil {
		s.Errorf("%s: no error, want %v", what, kinds)
		return
	}
	var e *provider.Error
	if !errors.As(err, &e) {
		s.Errorf("%s: %v (%T) is no *provider.Error", what, err, err)
		return
	}
	for _, hidden := range s.options.Hidden {
		if strings.Contains(err.Error(), hidden) {
			s.Errorf("%s: the error shows %q: %v", what, hidden, err)
		}
	}
	if slices.Contains(kinds, e.Kind) {
		return
	}
	s.Errorf("%s: the kind is %q (%v), want %v", what, e.Kind, err, kinds)
}

// traces returns what is on the host, and whether that is known.
func (s *suite) traces() ([]string, bool) {
	s.Helper()
	if s.options.Traces == nil {
		return nil, false
	}
	all, err := s.options.Traces()
	if err != nil {
		s.Fatalf("Options.Traces: %v", err)
	}
	return all, true
}

func (s *suite) infos(l provider.Lister) []provider.Info {
	s.Helper()
	infos, err := l.List(s.ctx)
	if err != nil {
		s.Fatalf("list: %v", err)
	}
	return infos
}

// lacks ends a case that the provider has no ability for.
func (s *suite) lacks(what string) {
	s.Helper()
	testenv.SkipArchitectural(s.TB, what)
}
