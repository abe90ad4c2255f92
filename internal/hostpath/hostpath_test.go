package hostpath_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	dir, err := hostpath.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func TestWalkStaysBelow(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "a/b"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(base, "link")))
	must(t, os.Symlink("a", filepath.Join(base, "inner")))
	must(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o644))
	dir := open(t, base)
	tests := []struct {
		name  string
		parts []string
		want  error
	}{
		{"itself", nil, nil},
		{"nested", []string{"a", "b"}, nil},
		{"missing", []string{"a", "c"}, unix.ENOENT},
		{"symlink out", []string{"link"}, unix.ENOTDIR},
		{"through a symlink", []string{"link", "x"}, unix.ENOTDIR},
		{"symlink that stays inside", []string{"inner", "b"}, unix.ENOTDIR},
		{"a file", []string{"file"}, unix.ENOTDIR},
		{"dot-dot", []string{"a", ".."}, unix.EINVAL},
		{"dot", []string{"."}, unix.EINVAL},
		{"empty", []string{""}, unix.EINVAL},
		{"slash", []string{"a/b"}, unix.EINVAL},
		{"NUL", []string{"a\x00"}, unix.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := hostpath.Walk(dir, tt.parts...)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("Walk(%q) = %v, want %v", tt.parts, err, tt.want)
			}
		})
	}
}

func TestWriteFile(t *testing.T) {
	base := t.TempDir()
	dir := open(t, base)
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("outside"), 0o644))
	must(t, os.Symlink(target, filepath.Join(base, "link")))
	must(t, os.Mkdir(filepath.Join(base, "dir"), 0o755))
	must(t, unix.Mkfifo(filepath.Join(base, "fifo"), 0o644))
	must(t, os.WriteFile(filepath.Join(base, "script"), []byte("old"), 0o755))

	for name, want := range map[string]error{
		"new": nil, "script": nil, "link": unix.ELOOP, "dir": unix.EISDIR, "fifo": unix.EINVAL, "../x": unix.EINVAL,
	} {
		if err := hostpath.WriteFile(dir, name, []byte("content"), 0o644); !errors.Is(err, want) {
			t.Errorf("WriteFile(%q) = %v, want %v", name, err, want)
		}
	}
	if b, _ := os.ReadFile(target); string(b) != "outside" {
		t.Errorf("the symlink's target holds %q", b)
	}
	if st, err := os.Stat(filepath.Join(base, "script")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the mode was not kept: %v %v", st, err)
	}
	left, _ := filepath.Glob(filepath.Join(base, hostpath.TempPrefix+"*"))
	if len(left) != 0 {
		t.Errorf("temporary files are left: %q", left)
	}
}

// A reader must see the old content or the new, whenever it looks.
func TestWriteFileIsAtomic(t *testing.T) {
	base := t.TempDir()
	dir := open(t, base)
	contents := map[string]bool{string(make([]byte, 100_000)): true, "short": true}
	must(t, hostpath.WriteFile(dir, "f", []byte("short"), 0o644))
	var wg sync.WaitGroup
	for content := range contents {
		wg.Go(func() {
			for range 200 {
				if err := hostpath.WriteFile(dir, "f", []byte(content), 0o644); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 400 {
		b, err := os.ReadFile(filepath.Join(base, "f"))
		if err != nil || !contents[string(b)] {
			t.Fatalf("read %d bytes, %v: neither of the two contents", len(b), err)
		}
	}
	wg.Wait()
}

func TestMakeDirsThroughASwappedParent(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	dir := open(t, base)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		p := filepath.Join(base, "p")
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.RemoveAll(p)
			os.Symlink(outside, p)
			os.Remove(p)
			os.Mkdir(p, 0o755)
		}
	})
	for range 2000 {
		if f, err := hostpath.MakeDirs(dir, 0o755, "p", "q"); err == nil {
			f.Close()
		}
	}
	close(stop)
	wg.Wait()
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("the walk left the directory: %v", entries)
	}
}

func TestRemoveAll(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "keep"), nil, 0o644))
	must(t, os.MkdirAll(filepath.Join(base, "d/e/f"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(base, "d/e/link")))
	dir := open(t, base)
	must(t, hostpath.RemoveAll(dir, "d"))
	must(t, hostpath.RemoveAll(dir, "d")) // a missing name is no error
	if _, err := os.Stat(filepath.Join(outside, "keep")); err != nil {
		t.Error("a symlink was followed:", err)
	}
	if err := hostpath.RemoveAll(dir, ".."); !errors.Is(err, unix.EINVAL) {
		t.Errorf("RemoveAll(..) = %v", err)
	}
}

func TestSplit(t *testing.T) {
	for _, bad := range []string{"/a", "a//b", "a/", "..", "a/../b", "./a", "a\x00b"} {
		if parts, err := hostpath.Split(bad); err == nil {
			t.Errorf("Split(%q) = %q", bad, parts)
		}
	}
	if parts, err := hostpath.Split("a/b"); err != nil || len(parts) != 2 {
		t.Errorf("Split(a/b) = %q, %v", parts, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What an agent makes to be in the way of its removal is removed all the same.
func TestRemoveAllOfWhatIsInTheWay(t *testing.T) {
	base := t.TempDir()
	dir := open(t, base)
	must(t, os.MkdirAll(filepath.Join(base, "d/closed/inner"), 0o755))
	must(t, os.Chmod(filepath.Join(base, "d/closed/inner"), 0))
	must(t, os.Chmod(filepath.Join(base, "d/closed"), 0))
	must(t, os.MkdirAll(filepath.Join(base, "d/readonly/x"), 0o755))
	must(t, os.Chmod(filepath.Join(base, "d/readonly"), 0o500))
	at := open(t, filepath.Join(base, "d"))
	for range 1500 { // deeper than descriptors last, and than a path is long
		next, err := hostpath.MakeDirs(at, 0o755, "deep")
		must(t, err)
		at.Close()
		at = next
	}
	at.Close()
	for i := range 3000 {
		must(t, os.WriteFile(filepath.Join(base, "d", strconv.Itoa(i)), nil, 0o644))
	}
	must(t, hostpath.RemoveAll(dir, "d"))
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
