package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func minute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func output(ctx context.Context, p *local.Provider, thread, script string) (string, error) {
	id, err := p.Acquire(ctx, mapping.Key{Thread: thread})
	if err != nil {
		return "", err
	}
	s, err := p.Get(id)
	if err != nil {
		return "", err
	}
	r, err := s.Execute(ctx, provider.Command{Script: script})
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(r.Stdout.Head)), nil
}

// Whoever asks for no network never gets one, however many make the thread's
// sandbox at the same moment.
func TestNoNetworkWhileOthersMakeTheSandbox(t *testing.T) {
	h := newHost(t)
	ctx := minute(t)
	open := h.open(t)
	h.cfg.Local.Net = provider.NetNone
	none := h.open(t)
	const ns = "readlink /proc/self/ns/net"
	hosts, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var refused, served int
	var mu sync.Mutex
	for range 5 {
		var wg sync.WaitGroup
		wg.Go(func() {
			// Whether it finds the other's sandbox or makes its own.
			if _, err := output(ctx, open, "t", "true"); err != nil {
				t.Error(err)
			}
		})
		for range 6 {
			wg.Go(func() {
				got, err := output(ctx, none, "t", ns)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, provider.Conflict):
					refused++
				case err != nil:
					t.Error(err)
				case got == hosts:
					t.Error("a command that was to have no network had the host's")
				default:
					served++
				}
			})
		}
		wg.Wait()
		if err := open.Stop(ctx, mapping.Key{Thread: "t"}); err != nil {
			t.Error(err)
		}
	}
	if refused+served != 30 {
		t.Errorf("%d refused and %d served", refused, served)
	}
}

func TestUnknownStateIsRefused(t *testing.T) {
	h := newHost(t)
	ctx := minute(t)
	p := h.open(t)
	h.sandbox(t, p, "t")
	states, _ := filepath.Glob(filepath.Join(h.cfg.RuntimeDir, "sb-*", "state.json"))
	if len(states) != 1 {
		t.Fatalf("states: %q", states)
	}
	if err := os.Remove(states[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := output(ctx, h.open(t), "t", "true"); !errors.Is(err, provider.Unavailable) || !strings.Contains(err.Error(), "sandboxfs stop t") {
		t.Errorf("with its state unknown: %v", err)
	}
	if err := p.Stop(ctx, mapping.Key{Thread: "t"}); err != nil {
		t.Error(err)
	}
	if _, err := output(ctx, p, "t", "true"); err != nil {
		t.Errorf("after a stop: %v", err)
	}
}

// The same thread under two runtime directories is two sandboxes; neither
// ends the other's command.
func TestTwoRuntimeDirectories(t *testing.T) {
	h := newHost(t)
	other := newHost(t)
	other.cfg.Home = h.cfg.Home
	ctx := minute(t)
	process, err := h.sandbox(t, h.open(t), "t").(provider.Starter).Start(ctx, provider.Command{Script: "read x; exit 7"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := output(ctx, other.open(t), "t", "true"); err != nil {
		t.Error(err)
	}
	r, err := process.Wait()
	if err != nil || r.ExitCode != 7 {
		t.Errorf("the first one's command: %+v, %v", r, err)
	}
}

// A runtime directory that was cleaned away takes nobody's sandbox along but
// those that nobody can find any more.
func TestRuntimeDirectoryRemoved(t *testing.T) {
	h := newHost(t)
	ctx := minute(t)
	h.sandbox(t, h.open(t), "t")
	old := h.keeper(t, mapping.Key{Thread: "t"})
	if err := os.RemoveAll(h.cfg.RuntimeDir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := output(ctx, h.open(t), "t", "echo new"); err != nil || got != "new" {
			t.Errorf("after it was removed: %q, %v", got, err)
		}
	}
	testenv.Poll(t, 40*time.Second, "the keeper that nobody finds to end", func() bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(old) + "/root")
		return os.IsNotExist(err)
	})
	if got, err := output(ctx, h.open(t), "t", "echo new"); err != nil || got != "new" {
		t.Errorf("after the old keeper's end: %q, %v", got, err)
	}
}

// An agent that takes its own rights away cannot lock its operator out.
func TestWorkspaceWithoutRights(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	h := newHost(t)
	ctx := minute(t)
	p := h.open(t)
	if _, err := output(ctx, p, "t", "chmod 000 ."); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(ctx, mapping.Key{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	if got, err := output(ctx, p, "t", "pwd"); err != nil || got != mapping.Workspace {
		t.Errorf("started again: %q, %v", got, err)
	}
}

func TestPathsThatJSONCannotCarry(t *testing.T) {
	cfg := provider.Config{Home: t.TempDir(), RuntimeDir: filepath.Join(t.TempDir(), "run\xff")}
	if _, err := local.New(cfg); !errors.Is(err, provider.Invalid) {
		t.Errorf("New = %v", err)
	}
}
