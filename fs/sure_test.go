package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// However often a file has been opened by a path, the next open finds what the
// host has put there a moment ago.
func TestOpenFollowsTheHostAtOnce(t *testing.T) {
	l := leaseTree(t, childSpec{})
	changes := map[string]func(t *testing.T, text string){
		"the file is replaced": func(t *testing.T, text string) {
			must(t, os.WriteFile(l.host+"/new", []byte(text), 0o644))
			must(t, os.Rename(l.host+"/new", l.host+"/a/b/c/f"))
		},
		"the file is made anew": func(t *testing.T, text string) {
			must(t, os.Remove(l.host+"/a/b/c/f"))
			must(t, os.WriteFile(l.host+"/a/b/c/f", []byte(text), 0o644))
		},
		"its directory is replaced": func(t *testing.T, text string) {
			must(t, os.RemoveAll(l.host+"/old"))
			must(t, os.Rename(l.host+"/a/b/c", l.host+"/old"))
			must(t, os.Mkdir(l.host+"/a/b/c", 0o755))
			must(t, os.WriteFile(l.host+"/a/b/c/f", []byte(text), 0o644))
		},
		"a directory above is exchanged": func(t *testing.T, text string) {
			must(t, os.RemoveAll(l.host+"/other"))
			must(t, os.MkdirAll(l.host+"/other/b/c", 0o755))
			must(t, os.WriteFile(l.host+"/other/b/c/f", []byte(text), 0o644))
			must(t, os.Rename(l.host+"/a", l.host+"/gone"))
			must(t, os.Rename(l.host+"/other", l.host+"/a"))
			must(t, os.RemoveAll(l.host+"/gone"))
		},
	}
	must(t, os.MkdirAll(l.host+"/a/b/c", 0o755))
	must(t, os.WriteFile(l.host+"/a/b/c/f", []byte("first"), 0o644))
	name := filepath.Join(l.in, "a/b/c/f")
	for round := range 12 {
		for what, change := range changes {
			if round%3 == 0 {
				l.settle(t) // no event is left to be read
			}
			for range 3 {
				if _, err := os.ReadFile(name); err != nil {
					t.Fatal(err)
				}
			}
			want := fmt.Sprint(round, what)
			change(t, want)
			if got, err := os.ReadFile(name); err != nil || string(got) != want {
				t.Fatalf("%s: got %q, %v, want %q", what, got, err, want)
			}
		}
	}
}
