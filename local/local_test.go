package local_test

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/execsuite"
	"github.com/sandboxfs/sandboxfs/test/filesuite"
	"github.com/sandboxfs/sandboxfs/test/lifecycle"
	"golang.org/x/sys/unix"
)

// host is a data directory and a runtime directory of a test's own.
type host struct {
	programs testenv.Programs
	cfg      provider.Config
}

func newHost(t *testing.T) *host {
	t.Helper()
	testenv.RequireFUSE(t)
	h := &host{programs: testenv.Binaries(t)}
	t.Setenv("SANDBOXFSD", h.programs.Sandboxfsd)
	base := t.TempDir()
	h.cfg = provider.Config{Home: filepath.Join(base, "home"), RuntimeDir: filepath.Join(base, "run")}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		p := h.open(t)
		infos, err := p.List(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, i := range infos {
			if err := p.Stop(ctx, mapping.Key{User: i.User, Thread: i.Thread}); err != nil {
				t.Error(err)
			}
		}
	})
	return h
}

// open returns a provider as another program of the same user would make it.
func (h *host) open(t testing.TB) *local.Provider {
	t.Helper()
	p, err := local.New(h.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (h *host) sandbox(t testing.TB, p *local.Provider, thread string) provider.Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	id, err := p.Acquire(ctx, mapping.Key{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keeper returns the pid of a thread's keeper.
func (h *host) keeper(t testing.TB, key mapping.Key) int {
	t.Helper()
	home, err := filepath.EvalSymlinks(h.cfg.Home)
	if err != nil {
		t.Fatal(err)
	}
	root, err := rundir.Open(h.cfg.RuntimeDir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return root.Sandbox(home, "local", key).Keeper()
}

func (h *host) lifecycle(t *testing.T) lifecycle.Options {
	return lifecycle.Options{
		New: func(t testing.TB) provider.Provider { return h.open(t) },
		AcquireElsewhere: func(ctx context.Context, key mapping.Key) (string, error) {
			cmd := osexec.CommandContext(ctx, h.programs.Sandboxfs, "exec", "--user", key.Normalize().User, key.Thread, "true")
			cmd.Env = append(os.Environ(), "SANDBOXFS_HOME="+h.cfg.Home, "SANDBOXFS_RUNTIME_DIR="+h.cfg.RuntimeDir)
			if out, err := cmd.CombinedOutput(); err != nil {
				return "", errors.New(string(out))
			}
			return local.IDOf(key), nil
		},
		Traces: func() ([]string, error) {
			return filepath.Glob(filepath.Join(h.cfg.RuntimeDir, "sb-*"))
		},
		Crash: func(_ context.Context, key mapping.Key) error {
			pid := h.keeper(t, key)
			if pid == 0 {
				return errors.New("no keeper lives")
			}
			return unix.Kill(pid, unix.SIGKILL)
		},
	}
}

func TestLifecycle(t *testing.T) {
	h := newHost(t)
	lifecycle.Run(t, h.lifecycle(t))
}

func TestLifecycleAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	h := newHost(t)
	lifecycle.Run(t, h.lifecycle(t))
}

func facts() filesuite.Facts {
	return filesuite.Facts{Dir: mapping.Workspace, ReadOnly: mapping.Uploads, Undownloadable: "/etc/passwd"}
}

func TestFiles(t *testing.T) {
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "files")
	filesuite.Run(t, func(testing.TB) provider.Sandbox { return s }, facts())
}

func TestFilesAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "files")
	filesuite.Run(t, func(testing.TB) provider.Sandbox { return s }, facts())
}

func TestCommands(t *testing.T) {
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "commands")
	execsuite.Run(t, func(testing.TB) provider.Sandbox { return s }, execsuite.Facts{Dir: mapping.Workspace})
}

func TestCommandsAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "commands")
	execsuite.Run(t, func(testing.TB) provider.Sandbox { return s }, execsuite.Facts{Dir: mapping.Workspace})
}

func TestUpdateFileIsTheOperators(t *testing.T) {
	h := newHost(t)
	s := h.sandbox(t, h.open(t), "t")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	outside := t.TempDir()
	if _, err := s.Execute(ctx, provider.Command{Script: "ln -s " + outside + " link; mkdir dir; mkfifo fifo"}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path string
		want provider.Kind
	}{
		{mapping.Uploads + "/new/data.csv", ""},
		{mapping.Workspace + "/x", ""},
		{mapping.ACPWorkspace + "/x", ""},
		{mapping.Skills + "/x", provider.ReadOnlyFS},
		{mapping.Uploads, provider.NotFound},
		{"/etc/passwd", provider.NotFound},
		{mapping.Uploads + "/../workspace/y", provider.Denied},
		{"relative", provider.NotFound},
		{mapping.Workspace + "/dir", provider.Invalid},
		{mapping.Workspace + "/fifo", provider.Invalid},
		{mapping.Workspace + "/x\x00y", provider.Invalid},
		{mapping.Workspace + "/x/", provider.Invalid},
		{mapping.Workspace + strings.Repeat("/a", 2100), provider.Invalid},
	}
	for _, tt := range tests {
		err := s.UpdateFile(ctx, tt.path, []byte("content"))
		if provider.KindOf(err) != tt.want {
			t.Errorf("UpdateFile(%q) = %v, want kind %q", tt.path, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), h.cfg.Home) {
			t.Errorf("UpdateFile(%q) shows a host path: %v", tt.path, err)
		}
	}
	for _, path := range []string{mapping.Workspace + "/link", mapping.Workspace + "/link/pwn"} {
		if err := s.UpdateFile(ctx, path, []byte("x")); err == nil {
			t.Errorf("UpdateFile(%q) followed a symlink", path)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("a planted symlink was followed: %v", entries)
	}
	got, err := s.ReadFile(ctx, mapping.Uploads+"/new/data.csv", provider.LineRange{})
	if err != nil || string(got) != "content" {
		t.Errorf("inside it reads %q, %v", got, err)
	}
}

func TestHostTierNeedsPermission(t *testing.T) {
	cfg := provider.Config{Home: t.TempDir(), RuntimeDir: filepath.Join(t.TempDir(), "run")}
	cfg.Local.Tier = provider.TierHost
	_, err := local.New(cfg)
	if !errors.Is(err, provider.Denied) || !strings.Contains(err.Error(), "SANDBOXFS_ALLOW_HOST_BASH") {
		t.Errorf("New = %v, want denied with what to do", err)
	}
}

func TestHostTier(t *testing.T) {
	h := newHost(t)
	h.cfg.AllowHostBash, h.cfg.Local.Tier = true, provider.TierHost
	marker := filepath.Join(t.TempDir(), "marker")
	if err := os.WriteFile(marker, []byte("the host's own"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := h.sandbox(t, h.open(t), "t")
	r, err := s.Execute(ctx, provider.Command{Script: "cat " + marker + "; touch x && pwd; touch /mnt/skills/x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Stdout.Head); got != "the host's own/mnt/user-data/workspace\n" || !strings.Contains(string(r.Stderr.Head), "Read-only") {
		t.Errorf("stdout %q, stderr %q", got, r.Stderr.Head)
	}
	if os.Geteuid() == 0 {
		r, err := s.Execute(ctx, provider.Command{Script: "grep -E '^(CapEff|Seccomp):' /proc/self/status"})
		if err != nil || strings.Contains(string(r.Stdout.Head), "CapEff:\t0000000000000000") || !strings.Contains(string(r.Stdout.Head), "Seccomp:\t0") {
			t.Errorf("a command does not have the caller's rights: %q, %v", r.Stdout.Head, err)
		}
	}
	// The live sandbox is not for somebody who asked for isolation.
	h.cfg.AllowHostBash, h.cfg.Local.Tier = false, ""
	if _, err := h.open(t).Acquire(ctx, mapping.Key{Thread: "t"}); !errors.Is(err, provider.Conflict) {
		t.Errorf("Acquire = %v, want conflict", err)
	}
}

func TestLessNetworkThanRunning(t *testing.T) {
	h := newHost(t)
	h.sandbox(t, h.open(t), "t")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h.cfg.Local.Net = provider.NetNone
	if _, err := h.open(t).Acquire(ctx, mapping.Key{Thread: "t"}); !errors.Is(err, provider.Conflict) || !strings.Contains(err.Error(), "sandboxfs stop t") {
		t.Errorf("Acquire = %v, want conflict with what to do", err)
	}
}

// The cap ends the sandbox that has been idle longest, and never a busy one.
func TestCap(t *testing.T) {
	h := newHost(t)
	h.cfg.Local.MaxSandboxes = 2
	p := h.open(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	busy := h.sandbox(t, p, "busy").(provider.Starter)
	process, err := busy.Start(ctx, provider.Command{Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		h.sandbox(t, p, "t"+strconv.Itoa(i))
	}
	infos, err := p.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Thread+" "+i.State)
	}
	if got := strings.Join(names, ", "); got != "busy running, t2 idle" {
		t.Errorf("live: %s", got)
	}
	other, err := h.sandbox(t, p, "t2").(provider.Starter).Start(ctx, provider.Command{Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Acquire(ctx, mapping.Key{Thread: "t3"}); !errors.Is(err, provider.Unavailable) || !strings.Contains(err.Error(), "busy") {
		t.Errorf("Acquire over the cap with all busy = %v", err)
	}
	for _, p := range []provider.Process{process, other} {
		if err := p.Signal(int(unix.SIGTERM)); err != nil {
			t.Error(err)
		}
		if r, err := p.Wait(); err != nil || r.ExitCode != 128+15 {
			t.Errorf("Wait = %+v, %v", r, err)
		}
	}
}

// As many as are allowed, all idle, make room for as many at once.
func TestCapOfManyAtOnce(t *testing.T) {
	h := newHost(t)
	const limit = 3
	h.cfg.Local.MaxSandboxes = limit
	p := h.open(t)
	for i := range limit {
		h.sandbox(t, p, "idle"+strconv.Itoa(i))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	errs := make(chan error, limit)
	for i := range limit {
		own := h.open(t) // as another program would
		go func() {
			_, err := own.Acquire(ctx, mapping.Key{Thread: "new" + strconv.Itoa(i)})
			errs <- err
		}()
	}
	for range limit {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// An idle sandbox ends by itself, and its handle starts it again.
func TestIdle(t *testing.T) {
	h := newHost(t)
	h.cfg.IdleTimeout = 1
	p := h.open(t)
	s := h.sandbox(t, p, "t")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// A command that runs longer than the timeout keeps it alive.
	if r, err := s.Execute(ctx, provider.Command{Argv: []string{"sleep", "2"}}); err != nil || r.ExitCode != 0 {
		t.Fatalf("a busy sandbox ended: %+v, %v", r, err)
	}
	testenv.Poll(t, 20*time.Second, "the idle sandbox to end", func() bool { return h.keeper(t, mapping.Key{Thread: "t"}) == 0 })
	if left, _ := filepath.Glob(filepath.Join(h.cfg.RuntimeDir, "sb-*")); len(left) != 0 {
		t.Errorf("it left %q", left)
	}
	if r, err := s.Execute(ctx, provider.Command{Argv: []string{"true"}}); err != nil || r.ExitCode != 0 {
		t.Errorf("after it ended: %+v, %v", r, err)
	}
}
