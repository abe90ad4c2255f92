package fs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/mapping"
)

// panicQuota panics where a directory is made, where a name "panic" is taken
// away, and where a file would become longer than a page.
type panicQuota struct{ stuckQuota }

func (q panicQuota) Make(dir int, mode uint32, size int64, act func() unix.Errno) unix.Errno {
	if mode&unix.S_IFMT == unix.S_IFDIR {
		panic("a directory")
	}
	return q.stuckQuota.Make(dir, mode, size, act)
}

func (q panicQuota) Write(dev, ino uint64, fd int, end func(int64) int64, act func(int64) unix.Errno) unix.Errno {
	if end(0) > 4096 {
		panic("a long file")
	}
	return q.stuckQuota.Write(dev, ino, fd, end, act)
}

func (q panicQuota) Resize(dev, ino uint64, fd int, to func(int64) int64, act func() unix.Errno) unix.Errno {
	if to(0) > 4096 {
		panic("a long file")
	}
	return q.stuckQuota.Resize(dev, ino, fd, to, act)
}

func (q panicQuota) Unname(dir int, name string, act func() unix.Errno) unix.Errno {
	if name == "panic" {
		panic("a name")
	}
	return q.stuckQuota.Unname(dir, name, act)
}

// A panic in a handler is EIO for that call and a line in the log. It takes
// nothing else with it: not the mount, and no lock of the file.
func TestPanic(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, Panics: true}, fs.MountOptions{}, nil)
	work := filepath.Join(m.Dir, mapping.Workspace)
	name := filepath.Join(work, "panic")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for round := range 40 { // more often than there are readers that stay
		for what, act := range map[string]func() error{
			"mkdir":    func() error { return os.Mkdir(filepath.Join(work, "d"), 0o755) },
			"write":    func() error { _, err := f.WriteAt([]byte("x"), 8192); return err },
			"truncate": func() error { return f.Truncate(8192) },
			"unlink":   func() error { return unix.Unlink(name) },
		} {
			if err := within(t, what, act); !errors.Is(err, unix.EIO) {
				t.Errorf("round %d, %s: %v, want EIO", round, what, err)
			}
		}
		if got := m.ask(t, "errors"); got != fmt.Sprint(4*(round+1)) {
			t.Fatalf("round %d: %s errors in the log", round, got)
		}
		if err := within(t, "a write", func() error { _, err := f.WriteAt([]byte("text"), 0); return err }); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != "text" {
			t.Errorf("round %d: %q, %v", round, got, err)
		}
	}
	s := m.stats(t)
	if s.Open > 2 {
		t.Errorf("%d files are open", s.Open)
	}
}
