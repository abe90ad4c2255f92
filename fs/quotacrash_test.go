package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"golang.org/x/sys/unix"
)

// TestQuotaAfterKill kills one of two servers of a thread under load, with a
// file open that has no name. The other one's numbers must be right at once.
func TestQuotaAfterKill(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Skip(t, "mounting in the host's namespace needs root")
	}
	w := newWorld(t)
	dying, living := mount(t, quotaSpec(w), fs.MountOptions{}, nil), mount(t, quotaSpec(w), fs.MountOptions{}, nil)
	here, there := filepath.Join(dying.Dir, mapping.Workspace), filepath.Join(living.Dir, mapping.Workspace)

	orphan, err := os.Create(filepath.Join(here, "orphan"))
	if err != nil {
		t.Fatal(err)
	}
	defer orphan.Close()
	if err := orphan.Truncate(300 << 10); err != nil {
		t.Fatal(err)
	}
	// The living one keeps a file without a name, which must go on counting.
	kept, err := os.Create(filepath.Join(there, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if err := kept.Truncate(100 << 10); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(here, "orphan"), filepath.Join(there, "kept")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	var load sync.WaitGroup
	var writes atomic.Int64
	for _, name := range []string{"a", "b", "c", "d"} {
		load.Go(func() {
			name := filepath.Join(here, name)
			for !errors.Is(os.WriteFile(name, make([]byte, 60<<10), 0o644), unix.ENOTCONN) {
				writes.Add(1)
				os.Truncate(name, 4096)
				os.Remove(name)
			}
		})
	}
	testenv.Poll(t, 20*time.Second, "the load", func() bool { return writes.Load() > 100 })
	dying.killed = true
	if err := dying.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	load.Wait()

	used := func() (bytes, files int64) {
		var st unix.Statfs_t
		if err := unix.Statfs(there, &st); err != nil {
			t.Fatal(err)
		}
		return int64(st.Blocks-st.Bavail) * st.Bsize, int64(st.Files - st.Ffree)
	}
	wantBytes, wantFiles := int64(100<<10), int64(1)
	entries, err := os.ReadDir(w.host(t, mapping.Workspace))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		wantBytes += (info.Size() + 4095) / 4096 * 4096
		wantFiles++
	}
	testenv.Poll(t, 5*time.Second, "the killed server to be gone", func() bool {
		b, f := used()
		return b == wantBytes && f == wantFiles
	})
	// All that is left can be used, and no more.
	n, err := unix.Open(filepath.Join(there, "all"), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(n)
	left := small.Bytes - wantBytes
	if err := unix.Ftruncate(n, left+1); err != unix.EDQUOT {
		t.Errorf("taking more than is left: %v", err)
	}
	if err := unix.Ftruncate(n, left); err != nil {
		t.Errorf("taking what is left: %v", err)
	}
}
