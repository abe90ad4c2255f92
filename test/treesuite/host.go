package treesuite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// seenWithin is the promise: a change made on the host shows in the tree
// within a second. slack is what a loaded machine may add; it tells a wrong
// promise from a late answer, not one machine from another.
const (
	seenWithin = time.Second
	slack      = 4 * time.Second
)

// soon waits until a condition holds, not longer than the promise.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	start := time.Now()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for !ok() {
		if time.Since(start) > seenWithin+slack {
			t.Errorf("%s is not seen after %v", what, time.Since(start).Round(time.Millisecond))
			return
		}
		<-pause.C
	}
}

// testHostChanges changes files behind the tree's back.
func testHostChanges(t *testing.T, s Subject) {
	if s.Host == "" {
		testenv.SkipArchitectural(t, "the host's side is not reachable")
	}
	tests := []struct {
		name string
		run  func(t *testing.T, dir, host string)
	}{
		{"new name", func(t *testing.T, dir, host string) {
			if _, err := os.Stat(filepath.Join(dir, "f")); !os.IsNotExist(err) {
				t.Fatal(err) // the kernel now knows that it is absent
			}
			put(t, filepath.Join(host, "f"), "x")
			soon(t, "a new name", func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return err == nil })
		}},
		{"removed", func(t *testing.T, dir, host string) {
			put(t, filepath.Join(dir, "f"), "x")
			must(t, os.Remove(filepath.Join(host, "f")))
			soon(t, "a removal", func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return os.IsNotExist(err) })
		}},
		{"listing", func(t *testing.T, dir, host string) {
			list := func() (names []string) {
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					names = append(names, e.Name())
				}
				return names
			}
			list()
			put(t, filepath.Join(host, "a"), "")
			soon(t, "a new name in a listing", func() bool { return slices.Equal(list(), []string{"a"}) })
			put(t, filepath.Join(host, "b"), "")
			must(t, os.Remove(filepath.Join(host, "a")))
			soon(t, "a changed listing", func() bool { return slices.Equal(list(), []string{"b"}) })
		}},
		{"contents", func(t *testing.T, dir, host string) {
			put(t, filepath.Join(dir, "f"), "old text")
			read(t, filepath.Join(dir, "f"))
			for _, text := range []string{"new text", "other   ", "a longer text", "less"} {
				put(t, filepath.Join(host, "f"), text)
				soon(t, "new contents", func() bool { return read(t, filepath.Join(dir, "f")) == text })
			}
		}},
		{"contents of an open file", func(t *testing.T, dir, host string) {
			put(t, filepath.Join(dir, "f"), "old text")
			f := open(t, filepath.Join(dir, "f"), os.O_RDONLY, 0)
			buf := make([]byte, 100)
			f.ReadAt(buf, 0)
			h := open(t, filepath.Join(host, "f"), os.O_WRONLY, 0)
			_, err := h.WriteAt([]byte("new text and more"), 0)
			must(t, err)
			soon(t, "new contents", func() bool { n, _ := f.ReadAt(buf, 0); return string(buf[:n]) == "new text and more" })
		}},
		{"replaced by rename", func(t *testing.T, dir, host string) {
			put(t, filepath.Join(dir, "f"), "old")
			put(t, filepath.Join(host, "tmp"), "new")
			must(t, os.Rename(filepath.Join(host, "tmp"), filepath.Join(host, "f")))
			soon(t, "a replaced file", func() bool { b, err := os.ReadFile(filepath.Join(dir, "f")); return err == nil && string(b) == "new" })
		}},
		{"replaced all the time", replacedAllTheTime},
		{"replaced and opened at once", func(t *testing.T, dir, host string) {
			for i := range 20 {
				text := fmt.Sprint("version ", i)
				put(t, filepath.Join(host, "tmp"), text)
				must(t, os.Rename(filepath.Join(host, "tmp"), filepath.Join(host, "f")))
				if i == 0 {
					soon(t, "a new file", func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return err == nil })
				}
				// Not within a second but now: an open is never of a file that
				// has lost its name.
				if got := read(t, filepath.Join(dir, "f")); got != text {
					t.Fatalf("read %q, want %q", got, text)
				}
			}
		}},
		{"file becomes directory", func(t *testing.T, dir, host string) {
			put(t, filepath.Join(dir, "f"), "old")
			must(t, os.Remove(filepath.Join(host, "f")))
			must(t, os.MkdirAll(filepath.Join(host, "f/sub"), 0o755))
			soon(t, "a directory", func() bool { _, err := os.Stat(filepath.Join(dir, "f/sub")); return err == nil })
		}},
		{"mode", func(t *testing.T, dir, host string) {
			put(t, filepath.Join(dir, "f"), "x")
			must(t, os.Chmod(filepath.Join(host, "f"), 0o640))
			soon(t, "a new mode", func() bool { return lstat(t, filepath.Join(dir, "f")).Mode&0o777 == 0o640 })
		}},
		{"renamed directory", func(t *testing.T, dir, host string) {
			must(t, os.MkdirAll(filepath.Join(dir, "d/e"), 0o755))
			put(t, filepath.Join(dir, "d/e/f"), "x")
			read(t, filepath.Join(dir, "d/e/f"))
			must(t, os.Rename(filepath.Join(host, "d"), filepath.Join(host, "d2")))
			soon(t, "a renamed directory", func() bool {
				b, err := os.ReadFile(filepath.Join(dir, "d2/e/f"))
				_, old := os.Stat(filepath.Join(dir, "d/e/f"))
				return err == nil && string(b) == "x" && os.IsNotExist(old)
			})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they wait for the most part
			dir, host := fresh(t, s)
			tt.run(t, dir, host)
		})
	}
}

// replacedAllTheTime opens a file that the host keeps replacing: each open
// gets one version or another, and never an error.
func replacedAllTheTime(t *testing.T, dir, host string) {
	put(t, filepath.Join(host, "f"), "version 0")
	soon(t, "a new file", func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return err == nil })
	stop := make(chan struct{})
	var replacer sync.WaitGroup
	replacer.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(filepath.Join(host, "tmp"), fmt.Appendf(nil, "version %d", i), 0o644)
			os.Rename(filepath.Join(host, "tmp"), filepath.Join(host, "f"))
		}
	})
	defer replacer.Wait()
	defer close(stop)
	for i := range 500 {
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || !strings.HasPrefix(string(b), "version ") {
			t.Fatalf("round %d: %q, %v", i, b, err)
		}
	}
}

// snapshot describes everything below a directory, contents included.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st := lstat(t, path)
		fmt.Fprintf(&b, "%s %o %d:%d %d %d %v %v", path, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Mtim, st.Ctim)
		switch d.Type() {
		case 0:
			fmt.Fprintf(&b, " %q", read(t, path))
		case fs.ModeSymlink:
			to, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", to)
		}
		names := make([]byte, 1000)
		if n, err := unix.Llistxattr(path, names); err == nil {
			fmt.Fprintf(&b, " %q", names[:n])
		}
		b.WriteByte('\n')
		return nil
	})
	must(t, err)
	return b.String()
}
