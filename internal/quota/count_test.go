package quota

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"golang.org/x/sys/unix"
)

func (w world) dir0(t testing.TB) *os.File {
	if err := os.MkdirAll(w.path(), 0o755); err != nil {
		t.Fatal(err)
	}
	return w.dir(t)
}

func TestWalkIsDeep(t *testing.T) {
	w := newWorld(t)
	at := int(w.dir0(t).Fd())
	const depth = 3000 // far beyond PATH_MAX and the walk's descriptors
	for i := range depth {
		if err := unix.Mkdirat(at, "directory", 0o755); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Openat(at, "directory", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			unix.Close(at)
		}
		at = fd
		if i%100 == 0 { // siblings that are met on the way back
			for _, name := range []string{"a", "z"} {
				if err := unix.Mkdirat(at, name, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	unix.Close(at)
	l := w.attach(t, plenty)
	wantUsage(t, l, (depth+60)*unit, depth+60)
}

func TestWalkFollowsNothing(t *testing.T) {
	w := newWorld(t)
	w.dir0(t)
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "f"), make([]byte, 100*unit), 0o644)
	os.Symlink(outside, w.path("link"))
	wantUsage(t, w.attach(t, plenty), unit, 1)
}

// TestUnreadableDirectories: an agent hides nothing with chmod.
func TestUnreadableDirectories(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	w := newWorld(t)
	w.dir0(t)
	for i, mode := range []os.FileMode{0, 0o100, 0o400, 0o300} {
		d := w.path(fmt.Sprint("d", i))
		os.MkdirAll(filepath.Join(d, "sub"), 0o755)
		os.WriteFile(filepath.Join(d, "sub", "f"), make([]byte, 10*unit), 0o644)
		os.Chmod(d, mode)
		t.Cleanup(func() { os.Chmod(d, 0o755) })
	}
	wantUsage(t, w.attach(t, plenty), 4*12*unit, 12)
	for i, mode := range []os.FileMode{0, 0o100, 0o400, 0o300} {
		if st, err := os.Stat(w.path(fmt.Sprint("d", i))); err != nil || st.Mode().Perm() != mode {
			t.Errorf("mode %v became %v, %v", mode, st.Mode(), err)
		}
	}
}

func TestRoundUp(t *testing.T) {
	for size, want := range map[int64]int64{-1: 0, 0: 0, 1: unit, unit: unit, unit + 1: 2 * unit, 1<<63 - 1: 1<<63 - unit, 1<<63 - unit: 1<<63 - unit} {
		if got := roundUp(size); got != want {
			t.Errorf("roundUp(%d) = %d, want %d", size, got, want)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	w := newWorld(b)
	const files = 50_000
	for i := range files {
		dir := w.path(fmt.Sprint("d", i/100))
		if i%100 == 0 {
			os.MkdirAll(dir, 0o755)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), []byte(strings.Repeat("x", i%7)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	l := w.attach(b, plenty)
	l.Usage()
	b.ResetTimer()
	for b.Loop() {
		began := time.Now()
		if u := l.count(); u.files != files+files/100 {
			b.Fatalf("%d files", u.files)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/walk")
	}
}

func BenchmarkWrite(b *testing.B) {
	w := newWorld(b)
	for _, holders := range []int{1, 2} {
		b.Run(fmt.Sprintf("%d holders", holders), func(b *testing.B) {
			l := w.attach(b, plenty)
			defer l.Close()
			if holders > 1 {
				defer w.attach(b, plenty).Close()
			}
			f, err := l.Create(w.dir(b), fmt.Sprint("f", holders), 0o644)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			fd := int(f.f.Fd())
			for b.Loop() {
				l.Write(f.i.dev, f.i.ino, fd, func(int64) int64 { return 100 }, func(int64) unix.Errno { return 0 })
			}
		})
	}
}
