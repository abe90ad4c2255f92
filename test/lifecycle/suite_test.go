package lifecycle

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func (h *host) program(testing.TB) provider.Provider { return h.newProgram() }

func TestTheFakePasses(t *testing.T) {
	testenv.NoLeaks(t, testenv.Leaks{})
	Run(t, newHost(flaws{}).options())
}

// failing runs the suite and returns the names of the cases that failed.
func failing(o Options) []string {
	var names []string
	for _, c := range Cases() {
		if testenv.Record(c.Name, func(t testing.TB) { c.Run(t, o) }).Failed {
			names = append(names, c.Name)
		}
	}
	return names
}

// Each flaw must make the case fail that is there for it.
func TestTheSuiteFindsFlaws(t *testing.T) {
	for _, c := range []struct {
		name   string
		flaws  flaws
		failed []string // at least these
	}{
		{"a new id each time", flaws{newIDEachTime: true}, []string{"AcquireTwice", "ConcurrentAcquire", "AnotherProcess"}},
		{"users share a sandbox", flaws{sharedUsers: true}, []string{"UsersDiffer"}},
		{"threads share a sandbox", flaws{sharedThreads: true}, []string{"ThreadsDiffer", "GenericKey"}},
		{"files are lost with the sandbox", flaws{loseFilesAtStop: true}, []string{"StopThenAcquire"}},
		{"invalid keys are accepted", flaws{acceptInvalid: true}, []string{"InvalidKey"}},
		{"invalid keys leave a directory", flaws{tracesOfInvalid: true}, []string{"InvalidKey"}},
		{"errors are of another type", flaws{foreignErrors: true}, []string{"InvalidKey"}},
		{"get invents sandboxes", flaws{inventSandboxes: true}, []string{"UnknownID", "AnotherProgram"}},
		{"get finds what it did not acquire", flaws{getFindsOthers: true}, []string{"AnotherProgram"}},
		{"release works once", flaws{releaseOnce: true}, []string{"ReleaseIsIdempotent"}},
		{"stop works once", flaws{stopOnce: true}, []string{"StopIsIdempotent"}},
		{"stop ends nothing", flaws{stopIsNoStop: true}, []string{"List"}},
		{"stop ends all", flaws{stopAll: true}, []string{"StopIsIdempotent"}},
		{"shutdown works once", flaws{shutdownOnce: true}, []string{"Shutdown"}},
		{"shutdown destroys", flaws{shutdownStops: true}, []string{"Shutdown"}},
		{"reset keeps its handles", flaws{resetKeepsHandles: true}, []string{"Reset"}},
		{"cancelling does nothing", flaws{ignoreCancel: true}, []string{"CancelledContext"}},
		{"programs do not see each other's", flaws{noLock: true}, []string{"ConcurrentAcquire", "AnotherProcess"}},
		{"list is empty", flaws{hideFromList: true}, []string{"List"}},
		{"list shows the dead as live", flaws{listDead: true}, []string{"List"}},
		{"list tells another id", flaws{wrongInfo: true}, []string{"List"}},
		{"the generic sandbox has user data", flaws{genericHasData: true}, []string{"GenericKey"}},
		{"stop keeps a lock", flaws{stopKeepsLock: true}, []string{"StopThenAcquire", "StopDuringAcquire"}},
		{"data of threads is mixed up", flaws{mixedUp: true}, []string{"ConcurrentThreads"}},
		{"errors show a host path", flaws{showsHost: true}, []string{"InvalidKey"}},
		{"a crash is not noticed", flaws{crashStaysDead: true}, []string{"Crash"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newHost(c.flaws).options()
			if c.flaws.stopKeepsLock {
				o.Deadline = 100 * time.Millisecond // what hangs is ended by it
			}
			got := failing(o)
			for _, want := range c.failed {
				if !slices.Contains(got, want) {
					t.Errorf("the case %s passed; only %q failed", want, got)
				}
			}
		})
	}
}

// bare has no ability beyond the three methods.
type bare struct{ provider.Provider }

func TestAbilitiesAreOptional(t *testing.T) {
	h := newHost(flaws{})
	o := Options{New: func(testing.TB) provider.Provider { return bare{h.newProgram()} }, Deadline: time.Minute}
	skipped := 0
	for _, c := range Cases() {
		r := testenv.Record(c.Name, func(t testing.TB) { c.Run(t, o) })
		if r.Failed {
			t.Errorf("%s: %s", c.Name, r.Text())
		}
		if r.Skipped {
			skipped++
			if r.Text() == "" {
				t.Errorf("%s was skipped without a reason", c.Name)
			}
		}
	}
	if want := 8; skipped != want {
		t.Errorf("%d cases were skipped, want %d", skipped, want)
	}
}

func TestTheSuiteEndsWhatItMade(t *testing.T) {
	h := newHost(flaws{})
	t.Run("suite", func(t *testing.T) { Run(t, h.options()) })
	p := h.newProgram()
	if infos, err := p.List(context.Background()); err != nil || len(infos) != 0 {
		t.Errorf("left behind: %+v, %v", infos, err)
	}
	var zero mapping.Key
	if _, err := p.Get(p.id(zero)); err == nil {
		t.Error("the generic sandbox is left behind")
	}
}
