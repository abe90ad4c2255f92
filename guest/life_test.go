package guest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not come", what)
		}
		time.Sleep(5 * time.Millisecond) // between two looks
	}
}

func TestDescribe(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	in, err := g.Describe(ctx)
	if err != nil || in.State != "idle" || in.Commands != 0 || in.ID != "local:t" || in.Isolation["tier"] != "none" {
		t.Fatalf("idle: got %+v, %v", in, err)
	}
	started := filepath.Join(g.dir, "started")
	stop, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := g.Execute(stop, provider.Command{Script: "touch started; sleep 60"})
		done <- err
	}()
	eventually(t, "the command", func() bool { _, err := os.Stat(started); return err == nil })
	if in, err = g.Describe(ctx); err != nil || in.State != "running" || in.Commands != 1 {
		t.Errorf("running: got %+v, %v", in, err)
	}
	if err := g.Stop(ctx, guest.StopIfIdle); !errors.Is(err, provider.Conflict) {
		t.Errorf("stop a busy guest if idle: want conflict, got %v", err)
	}
	cancel()
	<-done
	eventually(t, "idleness", func() bool { in, err := g.Describe(ctx); return err == nil && in.State == "idle" })
}

func TestStopNow(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	started := filepath.Join(g.dir, "started")
	type end struct {
		res *provider.Result
		err error
	}
	done := make(chan end, 1)
	go func() {
		res, err := g.Execute(ctx, provider.Command{Script: "touch started; sleep 60"})
		done <- end{res, err}
	}()
	eventually(t, "the command", func() bool { _, err := os.Stat(started); return err == nil })
	if err := g.Stop(ctx, guest.StopNow); err != nil {
		t.Fatal(err)
	}
	if e := <-done; e.err == nil && e.res.ExitCode != 128+15 {
		t.Errorf("the command that ran: want 143, got %+v", e.res)
	} else if errors.Is(e.err, guest.ErrNotStarted) {
		t.Errorf("a command that ran is said not to have started: %v", e.err)
	}
	g.wantEnd(t)
	wantNotStarted(t, ctx, g.Client, g.dir)
}

// wantNotStarted demands that a guest which is gone says so to every call.
func wantNotStarted(t *testing.T, ctx context.Context, c *guest.Client, dir string) {
	t.Helper()
	_, execErr := c.Execute(ctx, provider.Command{Script: ":"})
	_, startErr := c.Start(ctx, provider.Command{Script: ":"})
	_, readErr := c.ReadFile(ctx, dir+"/f", provider.LineRange{})
	_, infoErr := c.Describe(ctx)
	for name, err := range map[string]error{
		"execute": execErr, "start": startErr, "read": readErr, "describe": infoErr,
		"write": c.WriteFile(ctx, dir+"/f", nil, provider.Append), "stop": c.Stop(ctx, guest.StopNow),
	} {
		if !errors.Is(err, guest.ErrNotStarted) || !errors.Is(err, provider.Unavailable) {
			t.Errorf("%s: want unavailable and not started, got %v", name, err)
		}
	}
}

func TestIdle(t *testing.T) {
	ctx := limit(t)
	start := time.Now()
	g := startGuest(t, func(o *guest.ServerOptions) { o.IdleTimeout = 300 * time.Millisecond })
	// A command is not idleness, and being looked at is no activity.
	if res, err := g.Execute(ctx, provider.Command{Script: "sleep 0.8; echo done"}); err != nil || string(res.Stdout.Head) != "done\n" {
		t.Fatalf("a command longer than the timeout: got %+v, %v", res, err)
	}
	for {
		if _, err := g.Describe(ctx); err != nil {
			if !errors.Is(err, guest.ErrNotStarted) {
				t.Errorf("want not started, got %v", err)
			}
			break
		}
	}
	if d := time.Since(start); d < time.Second || d > 15*time.Second {
		t.Errorf("it ended after %v", d)
	}
	g.wantEnd(t)
	wantNotStarted(t, ctx, g.Client, g.dir)
}

// TestEndUnderLoad stops a guest while many clients call it: each call either
// has its effect, or says that it has not started.
func TestEndUnderLoad(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := 0
	for range 8 {
		wg.Go(func() {
			for {
				res, err := g.Execute(ctx, provider.Command{Script: "echo x >> log; exit 7"})
				if err != nil {
					if !errors.Is(err, guest.ErrNotStarted) {
						t.Errorf("want not started, got %v", err)
					}
					return
				}
				if res.ExitCode == 7 { // else it was ended on its way
					mu.Lock()
					written++
					mu.Unlock()
				}
			}
		})
	}
	eventually(t, "some commands", func() bool { mu.Lock(); defer mu.Unlock(); return written > 20 })
	if err := g.Stop(ctx, guest.StopNow); err != nil {
		t.Error(err)
	}
	wg.Wait()
	g.wantEnd(t)
	b, err := os.ReadFile(filepath.Join(g.dir, "log"))
	if err != nil || strings.Count(string(b), "x") < written {
		t.Errorf("%d commands are said to have run, and %d did, %v", written, strings.Count(string(b), "x"), err)
	}
}

// TestNothingLeaks runs what opens and holds things.
func TestNothingLeaks(t *testing.T) {
	// Without pid namespaces the executor catches signals for as long as the
	// process lives.
	testenv.NoLeaks(t, testenv.Leaks{Ignore: []string{"CatchSignals"}})
	ctx, g := limit(t), startGuest(t, nil)
	for range 5 {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		if _, err := g.Execute(short, provider.Command{Script: "sleep 60", Stdin: strings.NewReader("x")}); err == nil {
			t.Error("want an error")
		}
		cancel()
		if _, err := g.Execute(ctx, provider.Command{Argv: []string{"nothing-like-that"}}); err != nil {
			t.Error(err)
		}
		if _, err := g.Execute(ctx, provider.Command{Script: "sleep 60 & echo x", TTY: &provider.TTY{}}); err != nil {
			t.Error(err)
		}
		if err := g.WriteFile(ctx, g.dir+"/f", []byte("x"), provider.Replace); err != nil {
			t.Error(err)
		}
		r, err := g.DownloadFile(ctx, g.dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		for _, p := range []string{"/f", "/none", ""} {
			_, _ = g.Grep(ctx, g.dir+p, "x", provider.GrepOptions{MaxResults: 1})
			_, _ = g.ReplaceInFile(ctx, g.dir+p, provider.Replacement{Old: "y", New: "z"})
		}
	}
}

// TestHangUp ends the command whose client is gone.
func TestHangUp(t *testing.T) {
	ctx, g := limit(t), startGuest(t, nil)
	var conn net.Conn
	c := guest.NewClient(guest.ClientOptions{Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		var err error
		conn, err = d.DialContext(ctx, "unix", g.socket)
		return conn, err
	}})
	p, err := c.Start(ctx, provider.Command{Script: "trap '' TERM; while :; do echo x >> tick; sleep 0.02; done"})
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		st, err := os.Stat(filepath.Join(g.dir, "tick"))
		if err != nil {
			return 0
		}
		return st.Size()
	}
	eventually(t, "the command runs", func() bool { return size() > 0 })
	conn.Close()
	if _, err := p.Wait(); !errors.Is(err, provider.Unavailable) || errors.Is(err, guest.ErrNotStarted) {
		t.Errorf("want unavailable, and not that it did not start, got %v", err)
	}
	eventually(t, "the command ended", func() bool { in, err := g.Describe(ctx); return err == nil && in.Commands == 0 })
	last := size()
	if _, err := g.Execute(ctx, provider.Command{Script: "sleep 0.2"}); err != nil || size() != last {
		t.Errorf("the command runs on, %v", err)
	}
}
