package treesuite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// testNames makes files under every name that a component may have.
func testNames(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	names := []string{
		strings.Repeat("n", 255), strings.Repeat("ä", 127), " ", "...", "-rf", "a\nb", "\x01\x7f", "*?[", "\xff\xfe", "back\\slash", "con",
	}
	for _, name := range names {
		put(t, filepath.Join(dir, name), name)
	}
	listed, err := os.ReadDir(dir)
	must(t, err)
	if len(listed) != len(names) {
		t.Errorf("%d names are listed, want %d", len(listed), len(names))
	}
	for _, e := range listed {
		if !slices.Contains(names, e.Name()) {
			t.Errorf("%q is listed and was never made", e.Name())
		}
	}
	for _, name := range names {
		if got := read(t, filepath.Join(dir, name)); got != name {
			t.Errorf("%q reads as %q", name, got)
		}
		if host != "" {
			if got := read(t, filepath.Join(host, name)); got != name {
				t.Errorf("on the host %q reads as %q", name, got)
			}
		}
	}
	t.Run("path near the limit", func(t *testing.T) { testLongPath(t, dir) })
}

// testLongPath uses a path of just under PATH_MAX bytes.
func testLongPath(t *testing.T, dir string) {
	path := dir
	for len(path) < 4095-256 {
		path = filepath.Join(path, strings.Repeat("d", min(255, 4095-257-len(path)+1)))
		must(t, os.Mkdir(path, 0o755))
	}
	path = filepath.Join(path, strings.Repeat("f", 4095-len(path)-1))
	if len(path) != 4095 {
		t.Fatalf("the path has %d bytes", len(path))
	}
	put(t, path, "deep")
	if got := read(t, path); got != "deep" {
		t.Errorf("read %q", got)
	}
	want(t, "rename", unix.Rename(path, path[:len(path)-1]))
	want(t, "unlink", unix.Unlink(path[:len(path)-1]))
	want(t, "one byte more", unix.Mkdir(path+"x", 0o755), unix.ENAMETOOLONG)
}
