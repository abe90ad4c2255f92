package guest_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/sessionsuite"
)

func TestSessionSuite(t *testing.T) {
	g := startGuest(t, nil)
	sessionsuite.Run(t, func(testing.TB) provider.Sandbox { return g }, sessionsuite.Facts{Workdir: g.dir})
}

// Without namespaces sessions work as well.
func TestSessionSuiteSubreaper(t *testing.T) {
	g := startGuest(t, func(o *guest.ServerOptions) { o.Executor = newExecutor(t, exec.FormSubreaperOnly) })
	sessionsuite.Run(t, func(testing.TB) provider.Sandbox { return g }, sessionsuite.Facts{Workdir: g.dir})
}

// sh keeps less, and loses nothing else.
func TestSessionSuiteSh(t *testing.T) {
	if to, err := os.Readlink("/bin/sh"); err != nil || strings.Contains(to, "bash") {
		testenv.Skip(t, "/bin/sh is bash")
	}
	g := startGuest(t, func(o *guest.ServerOptions) { o.Shell = "/bin/sh" })
	sessionsuite.Run(t, func(testing.TB) provider.Sandbox { return g }, sessionsuite.Facts{Workdir: g.dir, NoBash: true})
	// What it does not keep is said.
	ctx := limit(t)
	run := func(script string) *provider.Result {
		res, err := g.Execute(ctx, provider.Command{Script: script, Session: "sh"})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	run("plain=1; export kept=2; f() { echo F; }")
	res := run("exit 3")
	if res.Session == nil || !strings.Contains(strings.Join(res.Session.Lost, "; "), "functions") {
		t.Errorf("a lost shell: got %+v", res.Session)
	}
	if res := run("echo $plain$kept"); string(res.Stdout.Head) != "2\n" {
		t.Errorf("afterwards: got %q", res.Stdout.Head)
	}
}

// A job keeps the sandbox, an idle session does not.
func TestJobIsNotIdle(t *testing.T) {
	ctx, g := limit(t), startGuest(t, func(o *guest.ServerOptions) { o.IdleTimeout = 300 * time.Millisecond })
	if _, err := g.Execute(ctx, provider.Command{Script: "sleep 600 & echo $! >pid", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := g.Stop(ctx, guest.StopIfIdle); provider.KindOf(err) != provider.Conflict {
		t.Errorf("stop a guest with a job if idle: want conflict, got %v", err)
	}
	select {
	case <-g.done:
		t.Fatal("the guest ended while a job lived")
	case <-time.After(time.Second): // more than three times what would end it
	}
	info, err := g.Describe(ctx)
	if err != nil || info.State != "running" || info.Jobs != 1 || info.Sessions != 1 || info.Commands != 0 {
		t.Errorf("describe: got %+v, %v", info, err)
	}
	jobs, err := g.Jobs(ctx)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("jobs: got %+v, %v", jobs, err)
	}
	if err := g.StopJob(ctx, jobs[0].ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		t.Error("the guest did not end, with an idle session alone")
	}
}

// A guest that ends lets no session wait for its jobs or its queue.
func TestStopEndsSessions(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := g.Execute(ctx, provider.Command{Script: "touch up; sleep 600 & sleep 600", Session: "s"})
			done <- err
		}()
	}
	eventually(t, "the command", func() bool { _, err := os.Stat(g.dir + "/up"); return err == nil })
	began := time.Now()
	if err := g.Stop(ctx, guest.StopNow); err != nil {
		t.Fatal(err)
	}
	g.wantEnd(t)
	<-done
	<-done
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// Many sessions at once mix nothing up.
func TestSessionsAtOnce(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	const many = 8
	errs := make(chan error, many)
	for i := range many {
		go func() { errs <- countIn(ctx, g, string(rune('a'+i))) }()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func countIn(ctx context.Context, g *running, name string) error {
	for range 20 {
		res, err := g.Execute(ctx, provider.Command{Script: "n=${n}" + name + "; echo $n", Session: name})
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(string(res.Stdout.Head)); strings.Trim(got, name) != "" {
			return &provider.Error{Kind: provider.Internal, Reason: "got " + got}
		}
	}
	return nil
}

func BenchmarkSession(b *testing.B) {
	g := startGuest(b, nil)
	for name, c := range map[string]provider.Command{
		"session/builtin": {Script: "echo hi", Session: "s"},
		"session/true":    {Script: "/bin/true", Session: "s"},
		"one-shot":        {Script: "echo hi"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if res, err := g.Execute(b.Context(), c); err != nil || res.ExitCode != 0 {
					b.Fatal(res, err)
				}
			}
		})
	}
}
