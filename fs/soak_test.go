package fs_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// A walk over many files takes little memory for each and no more descriptors
// than the budget, and gives the memory back when the kernel has dropped its
// caches.
func TestSoakWalkMemory(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, FileLimit: 4096}, fs.MountOptions{}, nil)
	files := testenv.Soak(10_000, 500_000)
	makeFiles(t, w.host(t, mapping.Workspace), files)
	pid := m.cmd.Process.Pid
	memory := func() int64 {
		t.Helper()
		n, err := hostview.Anonymous(pid)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := memory()

	stop, most := make(chan struct{}), make(chan int)
	go func() {
		highest := 0
		for {
			select {
			case <-stop:
				most <- highest
				return
			case <-time.After(5 * time.Millisecond):
				open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
				highest = max(highest, len(open))
			}
		}
	}()
	work := filepath.Join(m.Dir, mapping.Workspace)
	for _, walk := range [][]string{
		{"find", work, "-type", "f", "-size", "+0"}, // asks for attributes
		{"grep", "-rl", "anything", work},           // opens each file
	} {
		if out, _ := osexec.Command(walk[0], walk[1:]...).CombinedOutput(); len(out) > 0 {
			t.Errorf("%s: %s", walk[0], out)
		}
	}
	close(stop)
	highest := <-most
	s := m.stats(t)
	full := memory()
	t.Logf("%d files: %d nodes, %d descriptors (at most %d, budget %d), memory %d KiB before, %d KiB after, %d bytes a file",
		files, s.Nodes, s.Descriptors, highest, s.Budget, before>>10, full>>10, (full-before)/int64(files))
	if s.Nodes < files {
		t.Errorf("%d nodes for %d files", s.Nodes, files)
	}
	// The rest is the runtime's, the device, and the roots of the regions.
	if highest > s.Budget+40 {
		t.Errorf("%d descriptors were open with a budget of %d", highest, s.Budget)
	}

	// Mounting it again with the same options drops what is cached of this
	// filesystem, and of no other.
	if err := unix.Mount("", m.Dir, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, time.Minute, "the kernel to forget the files", func() bool { return m.stats(t).Nodes < 100 })
	if raceEnabled {
		return // the detector's own memory is not given back
	}
	testenv.Poll(t, time.Minute, "the server to give memory back", func() bool { return memory() < before+(full-before)/16+(3<<20) })
	t.Logf("the caches dropped: %d KiB", memory()>>10)
}

// makeFiles makes empty files, 200 in each directory.
func makeFiles(t *testing.T, at string, count int) {
	t.Helper()
	for d := 0; count > 0; d++ {
		dir := filepath.Join(at, fmt.Sprint("d", d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range min(count, 200) {
			if err := unix.Mknodat(fd, fmt.Sprint("file", i), unix.S_IFREG|0o644, 0); err != nil {
				t.Fatal(err)
			}
		}
		unix.Close(fd)
		count -= 200
	}
}
