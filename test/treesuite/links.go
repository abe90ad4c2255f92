package treesuite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// testLinks covers hard and symbolic links.
func testLinks(t *testing.T, s Subject) {
	t.Run("hard", func(t *testing.T) {
		dir, _ := fresh(t, s)
		in := func(name string) string { return filepath.Join(dir, name) }
		put(t, in("a"), "one")
		for i, name := range []string{"b", "c"} {
			must(t, os.Link(in("a"), in(name)))
			for _, n := range []string{"a", name} { // at once, under every name
				if st := lstat(t, in(n)); uint64(st.Nlink) != uint64(i+2) {
					t.Errorf("after link %d %s shows %d links", i, n, st.Nlink)
				}
			}
		}
		if lstat(t, in("a")).Ino != lstat(t, in("c")).Ino {
			t.Error("two names of a file have different inode numbers")
		}
		put(t, in("b"), "two")
		if got := read(t, in("c")); got != "two" {
			t.Errorf("a write under one name reads as %q under another", got)
		}
		if st := lstat(t, in("a")); st.Size != 3 {
			t.Errorf("size %d", st.Size)
		}
		must(t, unix.Chmod(in("a"), 0o600))
		if st := lstat(t, in("b")); st.Mode&0o777 != 0o600 {
			t.Errorf("chmod under one name shows %o under another", st.Mode)
		}
		must(t, os.Remove(in("a")))
		for _, name := range []string{"b", "c"} {
			if st := lstat(t, in(name)); st.Nlink != 2 {
				t.Errorf("after unlink %s shows %d links", name, st.Nlink)
			}
		}
		must(t, os.Rename(in("b"), in("c"))) // same inode: does nothing
		if _, err := os.Lstat(in("b")); err != nil {
			t.Errorf("rename onto another name of the same file: %v", err)
		}
	})
	t.Run("symbolic", func(t *testing.T) {
		dir, _ := fresh(t, s)
		for i, target := range []string{"x", "/etc/passwd", "../../../../../../etc/passwd", strings.Repeat("t", 4095), "/mnt/user-data", "\xff\n "} {
			name := filepath.Join(dir, fmt.Sprint(i))
			must(t, os.Symlink(target, name))
			got, err := os.Readlink(name)
			if err != nil || got != target {
				t.Errorf("a link to %.40q reads as %.40q, %v", target, got, err)
			}
			if st := lstat(t, name); st.Size != int64(len(target)) || st.Mode&unix.S_IFMT != unix.S_IFLNK {
				t.Errorf("a link to %.40q has size %d and mode %o", target, st.Size, st.Mode)
			}
		}
		must(t, os.Link(filepath.Join(dir, "0"), filepath.Join(dir, "hard")))
		if got, _ := os.Readlink(filepath.Join(dir, "hard")); got != "x" {
			t.Errorf("a hard link to a symbolic link reads as %q", got)
		}
		put(t, filepath.Join(dir, "x"), "followed")
		if got := read(t, filepath.Join(dir, "0")); got != "followed" {
			t.Errorf("through a link %q", got)
		}
	})
}
