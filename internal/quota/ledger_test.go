package quota

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// world is a thread on the host.
type world struct {
	run    *rundir.Root
	source regions.Source
}

func newWorld(t testing.TB) world {
	t.Helper()
	run, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return world{run, regions.Source{Key: mapping.Key{Thread: "t"}, Home: t.TempDir()}}
}

func (w world) path(parts ...string) string {
	return filepath.Join(append([]string{w.source.Home, "users/default/threads/t/user-data/workspace"}, parts...)...)
}

func (w world) attach(t testing.TB, limits provider.QuotaConfig) *Ledger {
	t.Helper()
	l, err := ForThread(deadline(t), w.run, w.source, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (w world) dir(t testing.TB, parts ...string) *os.File {
	t.Helper()
	d, err := os.Open(w.path(parts...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func wantUsage(t testing.TB, l *Ledger, bytes, files int64) {
	t.Helper()
	b, f, _, _ := l.Usage()
	if b != bytes || f != files {
		t.Errorf("usage is %d bytes in %d files, want %d in %d", b, f, bytes, files)
	}
}

// wantRecounted compares the numbers with a walk.
func wantRecounted(t testing.TB, l *Ledger) {
	t.Helper()
	u := l.count()
	wantUsage(t, l, u.bytes, u.files)
}

var plenty = provider.QuotaConfig{Bytes: 1 << 30, Files: 1 << 20}

func TestFirstHolderCounts(t *testing.T) {
	w := newWorld(t)
	os.MkdirAll(w.path("d/e"), 0o755)
	os.WriteFile(w.path("d/f"), make([]byte, 5000), 0o644)
	os.Link(w.path("d/f"), w.path("g"))
	os.Symlink("x", w.path("l"))
	os.WriteFile(w.path("empty"), nil, 0o644)
	l := w.attach(t, plenty)
	wantUsage(t, l, 4096*2+8192+4096, 5)
	other := w.attach(t, plenty)
	wantUsage(t, other, 4096*2+8192+4096, 5)
	if l.h.walks.Load() != 1 {
		t.Errorf("%d walks", l.h.walks.Load())
	}
	l.Close()
	wantUsage(t, other, 4096*2+8192+4096, 5)
	other.Close()
	if left, err := w.run.Ledgers(); err != nil || len(left) != 0 {
		t.Errorf("%d ledgers are left, %v", len(left), err)
	}
}

func TestHostWrites(t *testing.T) {
	w := newWorld(t)
	l := w.attach(t, provider.QuotaConfig{Bytes: 5 * unit, Files: 4})
	dir := w.dir(t)
	if err := l.WriteFile(dir, "a", make([]byte, 2*unit), 0o644); err != nil {
		t.Fatal(err)
	}
	wantUsage(t, l, 2*unit, 1)
	if err := l.WriteFile(dir, "a", make([]byte, 3*unit), 0o644); err != nil { // both for a while
		t.Fatal(err)
	}
	wantUsage(t, l, 3*unit, 1)
	if err := l.WriteFile(dir, "a", make([]byte, 3*unit), 0o644); !isErrno(err, unix.EDQUOT) {
		t.Errorf("replacing without room for both: %v", err)
	}
	f, err := l.Create(dir, "b", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.Write(make([]byte, 4*unit))
	if n != 2*unit || !isErrno(err, unix.EDQUOT) {
		t.Errorf("wrote %d, %v", n, err)
	}
	wantUsage(t, l, 5*unit, 2)
	if err := l.Remove(dir, "b", 0); err != nil {
		t.Fatal(err)
	}
	wantUsage(t, l, 5*unit, 2)
	wantRecounted(t, l)
	f.Close()
	wantUsage(t, l, 3*unit, 1)
	for _, name := range []string{"x", "y"} {
		if err := l.Mkdir(dir, name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Symlink("to", dir, "z"); !isErrno(err, unix.EDQUOT) {
		t.Errorf("a symlink without bytes: %v", err)
	}
	wantRecounted(t, l)
}

func isErrno(err error, want unix.Errno) bool {
	p, ok := err.(*os.PathError)
	return ok && p.Err == want
}
