package local_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/sessionsuite"
	"golang.org/x/sys/unix"
)

func TestSessions(t *testing.T) {
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "sessions")
	sessionsuite.Run(t, func(testing.TB) provider.Sandbox { return s }, sessionsuite.Facts{})
}

func TestSessionsAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "sessions")
	sessionsuite.Run(t, func(testing.TB) provider.Sandbox { return s }, sessionsuite.Facts{})
}

// A thread whose shell is persistent runs its scripts in one session, whoever
// sends them; programs with arguments stay one-shots.
func TestPersistentShell(t *testing.T) {
	h := newHost(t)
	h.cfg.Shell, h.cfg.Environment = provider.ShellPersistent, map[string]string{"GIVEN": "once"}
	ctx := minute(t)
	if got, err := output(ctx, h.open(t), "t", "cd /tmp; x=1; echo $GIVEN; export GIVEN=changed"); err != nil || got != "once" {
		t.Fatalf("the first script: %q, %v", got, err)
	}
	if got, err := output(ctx, h.open(t), "t", "pwd; echo $x$GIVEN"); err != nil || got != "/tmp\n1changed" {
		t.Errorf("the second: %q, %v", got, err)
	}
	s := h.sandbox(t, h.open(t), "t")
	res, err := s.Execute(ctx, provider.Command{Argv: []string{"sh", "-c", "pwd; echo $GIVEN"}})
	if err != nil || string(res.Stdout.Head) != mapping.Workspace+"\nonce\n" || res.Session != nil {
		t.Errorf("a program: %+v, %v", res, err)
	}
	infos, err := s.(provider.Sessioner).Sessions(ctx)
	if err != nil || len(infos) != 1 || infos[0].Name != provider.DefaultSession || infos[0].Commands != 2 {
		t.Errorf("sessions: %+v, %v", infos, err)
	}
}

// To look at a thread's sessions and jobs starts nothing.
func TestListingStartsNothing(t *testing.T) {
	h := newHost(t)
	ctx, p, key := minute(t), h.open(t), mapping.Key{Thread: "t"}
	if _, err := p.Find(ctx, key); !errors.Is(err, provider.NotFound) {
		t.Errorf("find: want not found, got %v", err)
	}
	s := h.sandbox(t, p, "t")
	if err := p.Stop(ctx, key); err != nil {
		t.Fatal(err)
	}
	infos, err := s.(provider.Sessioner).Sessions(ctx)
	jobs, jerr := s.(provider.JobKeeper).Jobs(ctx)
	if err != nil || jerr != nil || len(infos)+len(jobs) > 0 {
		t.Errorf("of a sandbox that is gone: %+v, %v, %+v, %v", infos, err, jobs, jerr)
	}
	if err := s.(provider.Sessioner).CloseSession(ctx, "x"); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := s.(provider.JobKeeper).StopJob(ctx, "x:1"); !errors.Is(err, provider.NotFound) {
		t.Errorf("stop a job: want not found, got %v", err)
	}
	if h.keeper(t, key) != 0 {
		t.Error("the sandbox was started")
	}
}

// Neither the cap nor another thread ends a sandbox that has a job.
func TestCapSparesJobs(t *testing.T) {
	h := newHost(t)
	h.cfg.Local.MaxSandboxes = 2
	ctx, p := minute(t), h.open(t)
	run := func(thread, script string) *provider.Result {
		res, err := h.sandbox(t, p, thread).Execute(ctx, provider.Command{Script: script, Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	run("job", "x=1; sleep 600 & true")
	run("idle", "x=1")
	for _, thread := range []string{"third", "fourth"} {
		run(thread, "true")
	}
	if res := run("job", "echo $x"); string(res.Stdout.Head) != "1\n" || res.Session != nil {
		t.Errorf("the sandbox with a job: got %q, %+v", res.Stdout.Head, res.Session)
	}
	if res := run("idle", "echo $x"); string(res.Stdout.Head) != "\n" || res.Session == nil || !strings.Contains(res.Session.Reason, "new") {
		t.Errorf("the idle sandbox: got %q, %+v", res.Stdout.Head, res.Session)
	}
}

// A sandbox that is killed loses its sessions, and the next command says so.
func TestSessionOfKilledSandbox(t *testing.T) {
	h := newHost(t)
	ctx, p := minute(t), h.open(t)
	s := h.sandbox(t, p, "t")
	if _, err := s.Execute(ctx, provider.Command{Script: "x=1; sleep 600 & true", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	process, err := s.(provider.Starter).Start(ctx, provider.Command{Script: "sleep 600", Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(h.keeper(t, mapping.Key{Thread: "t"}), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Wait(); !errors.Is(err, provider.Unavailable) {
		t.Errorf("the command that ran: want unavailable, got %v", err)
	}
	res, err := s.Execute(ctx, provider.Command{Script: "echo \"[$x]\"", Session: "s"})
	if err != nil || string(res.Stdout.Head) != "[]\n" || res.Session == nil || !strings.Contains(res.Session.Reason, "new") {
		t.Errorf("the next: got %+v, %v", res, err)
	}
}

// A session whose own bomb has left no process for its shell goes on without
// the bomb, and says so.
func TestSessionAfterForkBomb(t *testing.T) {
	h := newHost(t)
	ctx := minute(t)
	s := h.sandbox(t, h.open(t), "t")
	run := func(script string) *provider.Result {
		res, err := s.Execute(ctx, provider.Command{Script: script, Session: "s", Timeout: 3 * time.Second})
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return res
	}
	run("x=kept")
	bomb := run(":(){ :|:& };:; for i in {1..2000}; do sleep 600 & done; sleep 20")
	if !bomb.TimedOut || bomb.Session == nil {
		t.Errorf("the bomb: got %+v", bomb)
	}
	res := run("echo $x")
	if string(res.Stdout.Head) != "kept\n" {
		t.Errorf("afterwards: got %q, %q, %+v", res.Stdout.Head, res.Stderr.Head, res.Session)
	}
	t.Logf("told: %+v; %+v", bomb.Session, res.Session)
	if res := run("echo $x"); string(res.Stdout.Head) != "kept\n" || res.Session != nil {
		t.Errorf("and then: got %q, %+v", res.Stdout.Head, res.Session)
	}
}
