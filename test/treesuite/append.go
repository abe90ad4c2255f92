package treesuite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testAppend lets two writers append to one file: both through the tree, and
// one on the host. No byte of either may be lost.
func testAppend(t *testing.T, s Subject) {
	t.Run("two descriptors", func(t *testing.T) {
		dir, _ := fresh(t, s)
		name := filepath.Join(dir, "f")
		appendBoth(t, name, name)
	})
	t.Run("tree and host", func(t *testing.T) {
		dir, host := fresh(t, s)
		if host == "" {
			testenv.SkipArchitectural(t, "the host's side is not reachable")
		}
		appendBoth(t, filepath.Join(dir, "f"), filepath.Join(host, "f"))
	})
	t.Run("in turns", func(t *testing.T) {
		dir, host := fresh(t, s)
		if host == "" {
			testenv.SkipArchitectural(t, "the host's side is not reachable")
		}
		a := open(t, filepath.Join(dir, "f"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		for i, w := range []*os.File{a, nil, a, nil, a} {
			if w == nil {
				h := open(t, filepath.Join(host, "f"), os.O_WRONLY|os.O_APPEND, 0)
				w = h
			}
			_, err := fmt.Fprintf(w, "%d;", i)
			must(t, err)
		}
		if got := read(t, filepath.Join(host, "f")); got != "0;1;2;3;4;" {
			t.Errorf("on the host %q", got)
		}
		if got := read(t, filepath.Join(dir, "f")); got != "0;1;2;3;4;" {
			t.Errorf("in the tree %q", got)
		}
	})
	t.Run("set and cleared later", func(t *testing.T) {
		dir, _ := fresh(t, s)
		name := filepath.Join(dir, "f")
		put(t, name, "abc")
		f := open(t, name, os.O_RDWR, 0)
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETFL, unix.O_APPEND)
		must(t, err)
		_, err = unix.Write(int(f.Fd()), []byte("d"))
		must(t, err)
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, 0)
		must(t, err)
		_, err = unix.Pwrite(int(f.Fd()), []byte("X"), 0)
		must(t, err)
		if got := read(t, name); got != "Xbcd" {
			t.Errorf("read %q", got)
		}
	})
}

func appendBoth(t *testing.T, one, two string) {
	t.Helper()
	const lines = 400
	put(t, one, "")
	var writers sync.WaitGroup
	for i, name := range []string{one, two} {
		f := open(t, name, os.O_WRONLY|os.O_APPEND, 0)
		writers.Go(func() {
			for j := range lines {
				if _, err := fmt.Fprintf(f, "%d-%04d\n", i, j); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	for _, name := range []string{one, two} {
		seen := map[string]bool{}
		for line := range strings.Lines(read(t, name)) {
			seen[line] = true
		}
		if len(seen) != 2*lines {
			t.Errorf("%d different lines are left of %d", len(seen), 2*lines)
		}
	}
}
