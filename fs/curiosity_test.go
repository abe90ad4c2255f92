package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
)

// Who lists a tree and looks at no file makes the server remember directories
// only; who looks at one gets the rest of the files with their names.
func TestListingsIntroduceWhatIsWanted(t *testing.T) {
	const dirs, files = 20, 30
	w := newWorld(t)
	host := w.host(t, "/mnt/user-data/workspace")
	for d := range dirs {
		dir := filepath.Join(host, fmt.Sprint("d", d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", f)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	work := filepath.Join(m.Dir, "mnt/user-data/workspace")
	list := func(d int) []os.DirEntry {
		t.Helper()
		entries, err := os.ReadDir(filepath.Join(work, fmt.Sprint("d", d)))
		if err != nil || len(entries) != files {
			t.Fatalf("%d names, %v", len(entries), err)
		}
		for _, e := range entries {
			if !e.Type().IsRegular() {
				t.Fatalf("%s is shown as %v", e.Name(), e.Type())
			}
		}
		return entries
	}
	if entries, err := os.ReadDir(work); err != nil || len(entries) != dirs {
		t.Fatalf("%d names, %v", len(entries), err)
	}
	before := m.stats(t).Nodes
	for d := range dirs / 2 {
		list(d)
	}
	if n := m.stats(t).Nodes - before; n != 0 {
		t.Errorf("listing names only made the server remember %d files", n)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(work, "d0/f0"), &st); err != nil {
		t.Fatal(err)
	}
	list(dirs - 1)
	if n := m.stats(t).Nodes - before; n != 1+files {
		t.Errorf("after a look at a file the server remembers %d files, want it and %d of the next directory", n, files)
	}
}
