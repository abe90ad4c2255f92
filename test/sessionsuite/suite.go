package sessionsuite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Facts are what the suite must know of a sandbox.
type Facts struct {
	// Workdir is where a session starts; empty means
	// /mnt/user-data/workspace. It must be writable.
	Workdir string
	// NoBash says that the shell is sh, which keeps less.
	NoBash bool
	// Limit bounds each command that should end by itself; 0 means 20
	// seconds.
	Limit time.Duration
}

// keeper is what the suite is about.
type keeper interface {
	provider.Sandbox
	provider.Starter
	provider.Sessioner
	provider.JobKeeper
}

// Run runs the suite. The constructor is called once for each test; it may
// return the same sandbox every time. Names of sessions are the suite's own.
func Run(t *testing.T, open func(testing.TB) provider.Sandbox, f Facts) {
	if f.Limit == 0 {
		f.Limit = 20 * time.Second
	}
	if f.Workdir == "" {
		f.Workdir = "/mnt/user-data/workspace"
	}
	for _, c := range []struct {
		name string
		bash bool // needs bash
		run  func(*env)
	}{
		{"State", false, testState}, {"StateOfBash", true, testStateOfBash}, {"Streams", false, testStreams}, {"Stdin", false, testStdin},
		{"Environment", false, testEnvironment}, {"Directory", false, testDirectory}, {"Texts", false, testTexts}, {"Refused", false, testRefused},
		{"Ends", false, testEnds}, {"EndsOfBash", true, testEndsOfBash}, {"Spoilt", true, testSpoilt}, {"Readonly", true, testReadonly},
		{"DirectoryGone", false, testDirectoryGone}, {"KilledIdle", false, testKilledIdle},
		{"Timeout", false, testTimeout}, {"TimeoutKeepsState", true, testTimeoutKeepsState}, {"Cancel", false, testCancel}, {"Signal", false, testSignal},
		{"Queue", false, testQueue}, {"Unqueue", false, testUnqueue}, {"Apart", false, testApart},
		{"Jobs", false, testJobs}, {"JobsLiveOn", false, testJobsLiveOn}, {"StopJob", false, testStopJob}, {"JobOutput", false, testJobOutput},
		{"List", false, testList}, {"Close", false, testClose}, {"Cap", false, testCap},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.bash && f.NoBash {
				testenv.SkipArchitectural(t, "sh keeps no such state")
			}
			s, ok := open(t).(keeper)
			if !ok {
				testenv.SkipArchitectural(t, "this sandbox keeps no sessions (provider.Sessioner, provider.JobKeeper)")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*f.Limit)
			t.Cleanup(cancel)
			e := &env{T: t, s: s, f: f, ctx: ctx, name: "suite-" + c.name}
			t.Cleanup(func() {
				end, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Limit)
				defer cancel()
				if err := s.CloseSession(end, e.name); err != nil {
					t.Errorf("close the session: %v", err)
				}
			})
			c.run(e)
		})
	}
}

// env is one test's world.
type env struct {
	*testing.T
	s    keeper
	f    Facts
	ctx  context.Context //nolint:containedctx // that of the test
	name string          // of its session
}

// exec runs a command in the test's session, which must end within the limit.
func (e *env) exec(c provider.Command) *provider.Result {
	e.Helper()
	if c.Session == "" {
		c.Session = e.name
	}
	ctx, cancel := context.WithTimeout(e.ctx, e.f.Limit)
	defer cancel()
	res, err := e.s.Execute(ctx, c)
	if err != nil {
		e.Fatalf("execute %q: %v", clip(c.Script), err)
	}
	return res
}

// sh runs a script in the test's session.
func (e *env) sh(script string) *provider.Result {
	e.Helper()
	return e.exec(provider.Command{Script: script})
}

// want runs a script and compares what it wrote.
func (e *env) want(script, stdout string) *provider.Result {
	e.Helper()
	res := e.sh(script)
	if got := whole(res.Stdout); got != stdout {
		e.Errorf("%q: want %q, got %q, exit %d, stderr %q", clip(script), clip(stdout), clip(got), res.ExitCode, clip(whole(res.Stderr)))
	}
	return res
}

// wantWhole wants that nothing happened to the session.
func (e *env) wantWhole(what string, res *provider.Result) {
	e.Helper()
	if res.Session != nil {
		e.Errorf("%s: the session changed: %s", what, told(res))
	}
}

// wantChange wants that something was said of the session, with these words.
func (e *env) wantChange(what string, res *provider.Result, words ...string) {
	e.Helper()
	if res.Session == nil {
		e.Errorf("%s: nothing was said of the session; exit %d, stderr %q", what, res.ExitCode, clip(whole(res.Stderr)))
		return
	}
	for _, w := range words {
		if !strings.Contains(told(res), w) {
			e.Errorf("%s: want %q in %q", what, w, told(res))
		}
	}
}

func told(res *provider.Result) string {
	if res.Session == nil {
		return ""
	}
	return res.Session.Reason + " / " + strings.Join(res.Session.Lost, " / ")
}

// whole is an output with nothing left out.
func whole(o provider.Output) string { return string(o.Head) + string(o.Tail) }

func (e *env) wantKind(what string, err error, kind provider.Kind) {
	e.Helper()
	if !errors.Is(err, kind) {
		e.Errorf("%s: want kind %v, got %v", what, kind, err)
	}
}

// eventually waits for something that another process does.
func (e *env) eventually(what string, ok func() bool) {
	e.Helper()
	testenv.Poll(e, e.f.Limit, what, ok)
}

// jobs lists those of a session.
func (e *env) jobs(session string) []provider.Job {
	e.Helper()
	all, err := e.s.Jobs(e.ctx)
	if err != nil {
		e.Fatalf("list jobs: %v", err)
	}
	var own []provider.Job
	for _, j := range all {
		if j.Session == session {
			own = append(own, j)
		}
	}
	return own
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// marked is a sleep that no other test's is.
func marked(n int) string { return fmt.Sprintf("sleep 300.%06d", n) }
