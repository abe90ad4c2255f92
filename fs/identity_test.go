package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// forms runs a test with and without the right to open file handles.
func forms(t *testing.T, test func(t *testing.T, b bench)) {
	for _, handles := range []bool{true, false} {
		t.Run(fmt.Sprintf("handles=%v", handles), func(t *testing.T) {
			b := serveDirs(t, nil, "rw:/w")
			switch {
			case !handles:
				for _, fd := range b.handleRoots {
					unix.Close(fd)
				}
				clear(b.handleRoots)
			case len(b.handleRoots) == 0:
				testenv.SkipArchitectural(t, "this process may not open file handles here")
			}
			test(t, b)
		})
	}
}

func TestReopen(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		if err := os.MkdirAll(filepath.Join(b.root, "_w/a/b/c"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write("_w/a/b/c/f", "x")
		f := b.walk("w/a/b/c/f")
		status(t, "stat", b.stat(f), 0)
		b.closeAll()
		if b.held != 1 {
			t.Fatalf("%d descriptors are held, want the region's root alone", b.held)
		}
		status(t, "stat of a file whose parents are closed, too", b.stat(f), 0)

		// Moved through the tree: found again under its new parents.
		rename := func(from uint64, name string, to uint64, newName string) {
			t.Helper()
			status(t, "rename", b.Rename(nil, &fuse.RenameIn{InHeader: fuse.InHeader{NodeId: from}, Newdir: to}, name, newName), 0)
		}
		w := b.walk("w")
		rename(b.walk("w/a"), "b", w, "moved")
		b.closeAll()
		status(t, "stat after its parent was moved", b.stat(f), 0)
	})
}

func TestReplacedOnTheHost(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		name := b.write("_w/f", "first")
		old := b.walk("w/f")
		b.stat(old)
		b.closeAll()
		// Likely the same inode number, as no descriptor keeps the first.
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		b.write("_w/f", "second")
		status(t, "stat of what is gone", b.stat(old), unix.ESTALE)
		now := b.walk("w/f")
		if now == old {
			t.Errorf("the new file has the old one's node")
		}
		status(t, "stat of the new file", b.stat(now), 0)
		status(t, "stat of what is gone", b.stat(old), unix.ESTALE)
		b.forget(old, 1)
		b.forget(now, 1)
		if len(b.byKey) != 0 {
			t.Errorf("%d nodes are left", len(b.byKey))
		}
	})
}

func TestUnlinkedKeepsItsDescriptor(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		b.write("_w/f", "x")
		f := b.walk("w/f")
		status(t, "unlink", b.Unlink(nil, &fuse.InHeader{NodeId: b.walk("w")}, "f"), 0)
		b.closeAll()
		status(t, "stat of an unlinked file that is not forgotten", b.stat(f), 0)
		b.forget(f, 1)
		status(t, "stat after it was forgotten", b.stat(f), unix.ESTALE)
		if b.held != 1 {
			t.Errorf("%d descriptors are held", b.held)
		}
	})
}

func TestSwappedParent(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		outside := filepath.Join(b.root, "outside")
		for _, d := range []string{outside, filepath.Join(b.root, "_w/d")} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		b.write("outside/f", "secret")
		b.write("_w/d/f", "mine")
		d, f := b.walk("w/d"), b.walk("w/d/f")
		b.stat(f)
		b.closeAll()
		if err := os.Rename(filepath.Join(b.root, "_w/d"), filepath.Join(b.root, "_w/aside")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(b.root, "_w/d")); err != nil {
			t.Fatal(err)
		}
		// By handle the directory itself is found; by name there is nothing.
		var out fuse.EntryOut
		if s := b.Lookup(nil, &fuse.InHeader{NodeId: d}, "f", &out); s == fuse.OK && out.NodeId != f {
			t.Errorf("a lookup below the swapped directory found another file")
		}
		var open fuse.OpenOut
		if s := b.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: f}}, &open); s == fuse.OK {
			buf := make([]byte, 20)
			res, _ := b.Read(nil, &fuse.ReadIn{Fh: open.Fh}, buf)
			if got, _ := res.Bytes(nil); string(got) != "mine" {
				t.Errorf("it reads %q", got)
			}
			b.Release(nil, &fuse.ReleaseIn{Fh: open.Fh})
		} else {
			status(t, "open", s, unix.ESTALE)
		}
		link := b.look(b.walk("w"), "d")
		if link.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("the name shows mode %o", link.Mode)
		}
		status(t, "opening a link", b.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: link.NodeId}}, &open), unix.EINVAL)
		if s := b.OpenDir(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: link.NodeId}}, &open); s == fuse.OK {
			t.Error("a link was opened as a directory")
		}
		if s := b.Mkdir(nil, &fuse.MkdirIn{InHeader: fuse.InHeader{NodeId: link.NodeId}}, "x", &out); s == fuse.OK {
			t.Error("a directory was made through a link")
		}
	})
}

func TestForgetCounts(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.write("_w/f", "x")
	f := b.walk("w/f")
	b.walk("w/f")
	b.walk("w/f")
	b.Forget(f, 2)
	status(t, "stat with one lookup left", b.stat(f), 0)
	var open fuse.OpenOut
	status(t, "open", b.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: f}}, &open), 0)
	b.Forget(f, 1) // may be handled before the last RELEASE
	b.Release(nil, &fuse.ReleaseIn{Fh: open.Fh})
	if b.held != 1 || b.handleFDs.Load() != 0 {
		t.Errorf("%d and %d descriptors are held", b.held, b.handleFDs.Load())
	}
	b.Forget(12345, 1)
	b.Forget(fuse.FUSE_ROOT_ID, 99)
	if again := b.walk("w/f"); again == f {
		t.Error("a node number was used again")
	}
}

func TestIdleDescriptors(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.write("_w/f", "x")
	b.write("_w/g", "x")
	f, g := b.walk("w/f"), b.walk("w/g")
	b.stat(f)
	var open fuse.OpenOut
	status(t, "open", b.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: g}}, &open), 0)
	for range idleTicks {
		b.closeOlder(idleTicks)
	}
	if b.nodes[f].fd >= 0 {
		t.Error("an unused file is still held")
	}
	if b.nodes[g].fd < 0 {
		t.Error("an open file is not held")
	}
	status(t, "stat of an idle file", b.stat(f), 0)
	b.Release(nil, &fuse.ReleaseIn{Fh: open.Fh})
}
