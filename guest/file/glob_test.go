package file

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/sandboxfs/sandboxfs/provider"
)

// FuzzGlob compares the walk, which leaves out what cannot match, with trying
// the pattern on every path.
func FuzzGlob(f *testing.F) {
	dir := f.TempDir()
	var all []string
	for _, p := range []string{"a", "b.py", "d/a", "d/b.py", "d/e/b.py", "d/e/f/g.go", "x y/[z]", "x y/{w}", ".h/i", "d-e/k", "d/e-f/l"} {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			f.Fatal(err)
		}
		for q := p; q != "."; q = path.Dir(q) {
			if !slices.Contains(all, q) {
				all = append(all, q)
			}
		}
	}
	slices.Sort(all)
	for _, p := range []string{"**", "*", "**/*.py", "d/**/b.py", "d/*/*.py", "{a,d/{a,e/*}}", "**/{e,f}/**", "d/e/**", "[ab]", "x y/\\[z\\]", "x?y/*", "d/**", "**/", "d//e", "{d,x}/**/?.??", "*/e/*", "d*/**", "**/**/a", "{,d/}a"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		got, err := New().Glob(t.Context(), dir, pattern, provider.GlobOptions{IncludeDirs: true, NoIgnore: true})
		if err != nil {
			if k := provider.KindOf(err); k != provider.Invalid {
				t.Fatalf("%q: %v", pattern, err)
			}
			return
		}
		var want []string
		for _, p := range all {
			if ok, err := doublestar.Match(strings.TrimPrefix(pattern, "./"), p); ok && err == nil {
				want = append(want, filepath.Join(dir, p))
			}
		}
		if !slices.Equal(got.Paths, want) {
			t.Fatalf("%q: want %q, got %q", pattern, want, got.Paths)
		}
	})
}

func TestComparePaths(t *testing.T) {
	sorted := []string{"/a", "/a/b", "/a/b/c", "/a/c", "/a-b", "/a-b/c", "/b"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := comparePaths(a, b), min(max(i-j, -1), 1); got != want {
				t.Errorf("%s, %s: want %d, got %d", a, b, want, got)
			}
		}
	}
}

// TestGrepIsDeterministic demands the same first matches every time.
func TestGrepIsDeterministic(t *testing.T) {
	dir := tree(t, 300)
	var first []provider.Match
	for range 20 {
		res, err := New().Grep(t.Context(), dir, "func", provider.GrepOptions{MaxResults: 50})
		if err != nil || len(res.Matches) != 50 || !res.Truncated {
			t.Fatalf("%+v, %v", res, err)
		}
		if first == nil {
			first = res.Matches
		}
		if !slices.Equal(first, res.Matches) {
			t.Fatal("two runs give two answers")
		}
	}
}

// TestDirReaderChunks reads a directory in several chunks, each sorted.
func TestDirReaderChunks(t *testing.T) {
	dir := t.TempDir()
	const n = 105
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := newDirReader(int(d.Fd()))
	r.chunk = 10
	seen := map[string]bool{}
	for chunks := 0; ; chunks++ {
		entries, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			if len(seen) != n || chunks != 11 {
				t.Errorf("want %d names in 11 chunks, got %d in %d", n, len(seen), chunks)
			}
			return
		}
		if !slices.IsSortedFunc(entries, func(a, b dirent) int { return strings.Compare(a.name, b.name) }) {
			t.Error("a chunk is not sorted")
		}
		for _, e := range entries {
			seen[e.name] = true
		}
	}
}

// FuzzParseDirent never goes over the end, whatever the buffer holds.
func FuzzParseDirent(f *testing.F) {
	f.Add([]byte("12345678abcdefgh\x18\x00\x08a\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for n := len(b); len(b) > 0; {
			e, rest := parseDirent(b)
			if len(rest) >= len(b) || len(e.name) > n || strings.ContainsRune(e.name, 0) {
				t.Fatalf("%q, and %d bytes of %d left", e.name, len(rest), len(b))
			}
			b = rest
		}
	})
}
