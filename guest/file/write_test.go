package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

func write(t *testing.T, f *Files, p, content string, mode provider.WriteMode) error {
	t.Helper()
	return f.Write(t.Context(), p, strings.NewReader(content), int64(len(content)), mode)
}

func wantFile(t *testing.T, p, want string) {
	t.Helper()
	got, err := os.ReadFile(p)
	if err != nil || string(got) != want {
		t.Errorf("%s: want %.40q, got %.40q, %v", filepath.Base(p), want, got, err)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("want the files %q, got %q", want, got)
	}
}

// TestReplaceSeesCommands lets a command write between the reading of a file
// and the rename.
func TestReplaceSeesCommands(t *testing.T) {
	p := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(p, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := New()
	appends := 0
	f.beforeRename = func() {
		if appends++; appends > 2 {
			return
		}
		file, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := io.WriteString(file, "appended\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Replace(t.Context(), p, provider.Replacement{Old: "old", New: "new"}); err != nil {
		t.Fatal(err)
	}
	wantFile(t, p, "new\nappended\nappended\n")

	appends = -1000
	_, err := f.Replace(t.Context(), p, provider.Replacement{Old: "new", New: "newer"})
	if !errors.Is(err, provider.Conflict) {
		t.Errorf("a file that is written all the time: want conflict, got %v", err)
	}
	f.beforeRename = func() { os.Rename(p, p+"2") }
	if _, err = f.Replace(t.Context(), p, provider.Replacement{Old: "new", New: "newer"}); !errors.Is(err, provider.NotFound) {
		t.Errorf("a file that is moved away: want not found, got %v", err)
	}
	wantNames(t, filepath.Dir(p), "f2")
}

// TestWriteBreaksOff announces more than comes.
func TestWriteBreaksOff(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "f")
	f := New()
	if err := write(t, f, p, "old", provider.Replace); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []provider.WriteMode{provider.Replace, provider.Append} {
		for _, r := range []io.Reader{strings.NewReader("new"), io.MultiReader(strings.NewReader("new"), brokenReader{})} {
			if err := f.Write(t.Context(), p, r, 10, mode); provider.KindOf(err) != provider.Invalid && provider.KindOf(err) != provider.Internal {
				t.Errorf("mode %d: want an error, got %v", mode, err)
			}
		}
	}
	wantFile(t, p, "old")
	wantNames(t, dir, "f")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestDiskFull fills a small store: whatever fails leaves the file as it was.
func TestDiskFull(t *testing.T) {
	dir := testenv.SmallStore(t, testenv.MinStoreBytes, 100)
	p := filepath.Join(dir, "f")
	f := New()
	if err := write(t, f, p, "old", provider.Replace); err != nil {
		t.Fatal(err)
	}
	names := func() string {
		m, err := filepath.Glob(filepath.Join(dir, "*"))
		hidden, herr := filepath.Glob(filepath.Join(dir, ".s*"))
		if err != nil || herr != nil {
			t.Fatal(err, herr)
		}
		return strings.Join(append(m, hidden...), " ")
	}
	before := names()
	large := bytes.Repeat([]byte("x"), 2*testenv.MinStoreBytes)
	for _, mode := range []provider.WriteMode{provider.Replace, provider.Append} {
		for _, name := range []string{p, filepath.Join(dir, "new")} {
			err := f.Write(t.Context(), name, bytes.NewReader(large), int64(len(large)), mode)
			if !errors.Is(err, provider.Quota) {
				t.Errorf("mode %d: want quota, got %v", mode, err)
			}
		}
		wantFile(t, p, "old")
		if got := names(); got != before {
			t.Errorf("mode %d: want %s, got %s", mode, before, got)
		}
	}
	if _, err := f.Replace(t.Context(), p, provider.Replacement{Old: "old", New: string(large)}); !errors.Is(err, provider.Quota) {
		t.Errorf("replace: want quota, got %v", err)
	}
	wantFile(t, p, "old")
	if got := names(); got != before {
		t.Errorf("replace: want %s, got %s", before, got)
	}
	if err := write(t, f, p, "there is room again", provider.Replace); err != nil {
		t.Error(err)
	}
}

func TestReplaceableOnly(t *testing.T) {
	for mode, want := range map[uint32]provider.Kind{0o100644: "", 0o010644: provider.Invalid, 0o040755: provider.Invalid, 0o020666: provider.Invalid, 0o140755: provider.Invalid} {
		if got := provider.KindOf(wantRegular("write file", "/x", mode)); got != want {
			t.Errorf("mode %o: want %q, got %q", mode, want, got)
		}
	}
}

func TestLocksAreShared(t *testing.T) {
	dir := linkTree(t)
	f := New()
	a, err := locate("write", dir+"/ld/e/file")
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	b, err := locate("write", dir+"/abs/../e/./file")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	unlock, err := f.lock(a.dir, a.name)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan struct{})
	go func() {
		if unlock, err := f.lock(b.dir, b.name); err == nil {
			unlock()
		}
		close(got)
	}()
	for {
		f.mu.Lock()
		waiting := len(f.locks) == 1
		for _, l := range f.locks {
			waiting = waiting && l.users == 2
		}
		f.mu.Unlock()
		if waiting {
			break
		}
	}
	select {
	case <-got:
		t.Error("two spellings of one path have two locks")
	default:
	}
	unlock()
	<-got
	if len(f.locks) != 0 {
		t.Error("locks are left")
	}
}

// FuzzCheckPath demands that what is accepted could be a path.
func FuzzCheckPath(f *testing.F) {
	for _, p := range []string{"/a", "a", "", "/\x00", "/a/../b", strings.Repeat("/a", 3000)} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		err := CheckPath("read", p)
		ok := strings.HasPrefix(p, "/") && !strings.Contains(p, "\x00") && len(p) <= 4095
		if ok != (err == nil) || err != nil && provider.KindOf(err) != provider.Invalid {
			t.Errorf("%q: %v", p, err)
		}
	})
}
