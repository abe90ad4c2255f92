package fault

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// TestDiskFull fills the store that two threads lie on. The writer hears of
// it, and nothing else breaks.
func TestDiskFull(t *testing.T) {
	const size, inodes = 16 << 20, 1000
	store := testenv.SmallStore(t, size, inodes)
	w := newWorld(t, filepath.Join(store, "home"))
	w.sh(t, "other", "echo kept >f")
	w.sh(t, "full", "echo before >f")

	code, out := w.try(t, "exec", "full", "--", "dd", "if=/dev/zero", "of=big", "bs=64k", "count=1000")
	if code != 1 || !strings.Contains(out, "No space left on device") {
		t.Errorf("the writer: want status 1 and ENOSPC, got %d: %s", code, out)
	}
	code, out = w.try(t, "exec", "full", "--", "bash", "-c", "head -c 100000 /dev/zero >more")
	if code == 0 || !strings.Contains(out, "No space left on device") {
		t.Errorf("the next writer: want ENOSPC, got %d: %s", code, out)
	}

	if want, got := "before\nkept", w.sh(t, "full", "cat f")+"\n"+w.sh(t, "other", "cat f"); got != want {
		t.Errorf("reading with a full disk: want %q, got %q", want, got)
	}
	w.do(t, 0, "ps")
	// A sandbox that is made while the disk is full works for what needs no
	// space.
	w.do(t, 0, "stop", "full")
	if got := w.sh(t, "full", "cat f"); got != "before" {
		t.Errorf("a new sandbox on the full disk: %q", got)
	}

	w.sh(t, "full", "rm big more")
	if got := w.sh(t, "full", "echo after >f && cat f"); got != "after" {
		t.Errorf("with space again: %q", got)
	}
}

// TestIdleEnd lets a sandbox end by itself, and not while a command runs.
func TestIdleEnd(t *testing.T) {
	w := newWorld(t, "")
	t.Setenv("SANDBOXFS_IDLE_TIMEOUT", "1")
	if got := w.sh(t, "idle", "sleep 3; echo done"); got != "done" {
		t.Errorf("a command longer than the idle time: %q", got)
	}
	testenv.Poll(t, 20*time.Second, "the idle sandbox to end by itself", func() bool {
		return w.do(t, 0, "ps", "--json") == ""
	})
	w.expectNoneOfUs(t)
	if got := w.sh(t, "idle", "echo again"); got != "again" {
		t.Errorf("the next command: %q", got)
	}
}

// TestUnreachableRuntimeDirectory meets a runtime directory that others could
// write to.
func TestUnreachableRuntimeDirectory(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Mkdir(w.run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.run, 0o777); err != nil {
		t.Fatal(err)
	}
	out := w.do(t, 125, "exec", "demo", "--", "true")
	if !strings.Contains(out, "a directory of your own with mode 0700") {
		t.Errorf("want the cure, got %q", out)
	}
	if err := os.Chmod(w.run, 0o700); err != nil {
		t.Fatal(err)
	}
}
