package execsuite

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Facts are what the suite must know of a sandbox.
type Facts struct {
	// Dir is a writable directory.
	Dir string
	// Workdir is where a command starts that names no directory; empty means
	// /mnt/user-data/workspace.
	Workdir string
	// NoBash says that scripts are run by sh.
	NoBash bool
	// NoTTY says that there are no terminals.
	NoTTY bool
	// Limit bounds each command that should end by itself; 0 means 20
	// seconds.
	Limit time.Duration
}

// Run runs the suite. The constructor is called once for each test; it may
// return the same sandbox every time.
func Run(t *testing.T, open func(testing.TB) provider.Sandbox, f Facts) {
	if f.Limit == 0 {
		f.Limit = 20 * time.Second
	}
	if f.Workdir == "" {
		f.Workdir = "/mnt/user-data/workspace"
	}
	for _, c := range []struct {
		name string
		live bool // needs a provider.Starter
		run  func(*env)
	}{
		{"Results", false, testResults}, {"Arguments", false, testArguments}, {"LongScript", false, testLongScript}, {"Refused", false, testRefused},
		{"Environment", false, testEnvironment}, {"Directory", false, testDirectory},
		{"Output", false, testOutput}, {"OutputBound", false, testOutputBound}, {"OutputUnbounded", false, testOutputUnbounded},
		{"Stdin", false, testStdin}, {"StdinUnread", false, testStdinUnread},
		{"Timeout", false, testTimeout}, {"TimeoutIgnored", false, testTimeoutIgnored}, {"Cancel", false, testCancel},
		{"LeftBehind", false, testLeftBehind}, {"PipeHolder", false, testPipeHolder}, {"Concurrent", false, testConcurrent},
		{"Live", true, testLive}, {"LiveBinary", true, testLiveBinary}, {"LiveSlowReader", true, testLiveSlowReader}, {"LiveBound", true, testLiveBound}, {"LiveWriterFails", true, testLiveWriterFails},
		{"Signals", true, testSignals}, {"Terminal", true, testTerminal}, {"TerminalKeys", true, testTerminalKeys},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*f.Limit)
			t.Cleanup(cancel)
			e := &env{T: t, s: s, f: f, ctx: ctx}
			if c.live {
				starter, ok := s.(provider.Starter)
				if !ok {
					testenv.SkipArchitectural(t, "this sandbox has no live streams (provider.Starter)")
				}
				e.starter = starter
			}
			c.run(e)
		})
	}
}

// env is one test's world.
type env struct {
	*testing.T
	s       provider.Sandbox
	starter provider.Starter
	f       Facts
	ctx     context.Context //nolint:containedctx // that of the test
}

// exec runs a command that must end within the limit, and be no error.
func (e *env) exec(c provider.Command) *provider.Result {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, e.f.Limit)
	defer cancel()
	res, err := e.s.Execute(ctx, c)
	if err != nil {
		e.Fatalf("execute %q %q: %v", c.Argv, clip(c.Script), err)
	}
	return res
}

// sh runs a script.
func (e *env) sh(script string) *provider.Result {
	e.Helper()
	return e.exec(provider.Command{Script: script})
}

// want compares what a script wrote and how it ended.
func (e *env) want(what string, res *provider.Result, code int, stdout string) {
	e.Helper()
	if res.ExitCode != code || whole(res.Stdout) != stdout {
		e.Errorf("%s: want exit %d and %q, got exit %d, %q, stderr %q", what, code, clip(stdout), res.ExitCode, clip(whole(res.Stdout)), clip(whole(res.Stderr)))
	}
}

// whole is an output with nothing left out.
func whole(o provider.Output) string { return string(o.Head) + string(o.Tail) }

func (e *env) wantKind(what string, err error, kinds ...provider.Kind) {
	e.Helper()
	var typed *provider.Error
	if !errors.As(err, &typed) {
		e.Errorf("%s: want a *provider.Error of kind %v, got %T: %v", what, kinds, err, err)
		return
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			return
		}
	}
	e.Errorf("%s: want kind %v, got %v", what, kinds, err)
}

// eventually waits for something that another process does.
func (e *env) eventually(what string, ok func() bool) {
	e.Helper()
	testenv.Poll(e, e.f.Limit, what, ok)
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// lines splits what a command wrote.
func lines(o provider.Output) []string {
	return strings.Split(strings.TrimSuffix(whole(o), "\n"), "\n")
}
