package fs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// Handlers can be called without a mount, as the kernel would call them. So
// these tests need no privilege, and reach what a kernel never sends.

type bench struct {
	*raw
	t    *testing.T
	root string
}

// serveDirs makes a tree over new directories: "rw:/path" or "ro:/path".
func serveDirs(t *testing.T, change func(*Options), dirs ...string) bench {
	t.Helper()
	root := t.TempDir()
	var regions []mapping.Region
	for _, d := range dirs {
		access, virtual, _ := strings.Cut(d, ":")
		r := mapping.Region{Virtual: virtual, Host: filepath.Join(root, strings.ReplaceAll(virtual, "/", "_"))}
		if access == "ro" {
			r.Agent = mapping.ReadOnly
		}
		regions = append(regions, r)
	}
	return serveRegions(t, root, change, regions...)
}

func serveRegions(t *testing.T, root string, change func(*Options), regions ...mapping.Region) bench {
	t.Helper()
	old := unix.Umask(0)
	t.Cleanup(func() { unix.Umask(old) })
	table, err := mapping.NewTable(regions...)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Table: table, Roots: map[string]*os.File{}, UID: 1000, GID: 1000}
	for _, r := range regions {
		if err := os.MkdirAll(r.Host, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(r.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o.Roots[r.Virtual] = f
	}
	if change != nil {
		change(&o)
	}
	tree, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return bench{&raw{fuse.NewDefaultRawFileSystem(), tree}, t, root}
}

// look looks a name up; an absent one is node 0.
func (b bench) look(parent uint64, name string) fuse.EntryOut {
	b.t.Helper()
	var out fuse.EntryOut
	if s := b.Lookup(nil, &fuse.InHeader{NodeId: parent}, name, &out); s != fuse.OK {
		b.t.Fatalf("lookup of %q: %v", name, s)
	}
	return out
}

// walk looks up each component of a path.
func (b bench) walk(path string) uint64 {
	b.t.Helper()
	id := uint64(fuse.FUSE_ROOT_ID)
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if id = b.look(id, part).NodeId; id == 0 {
			b.t.Fatalf("%s: %s is not there", path, part)
		}
	}
	return id
}

func (b bench) stat(id uint64) fuse.Status {
	return b.GetAttr(nil, &fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: id}}, &fuse.AttrOut{})
}

// closeAll closes every unused descriptor, as a full budget would.
func (b bench) closeAll() { b.trim(b.unusedDescriptors()) }

func (b bench) write(name, text string) string {
	b.t.Helper()
	name = filepath.Join(b.root, name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return name
}

func status(t *testing.T, what string, got fuse.Status, want unix.Errno) {
	t.Helper()
	if got != fuse.Status(want) {
		t.Errorf("%s: got %v, want %v", what, got, fuse.Status(want))
	}
}

func TestLookup(t *testing.T) {
	b := serveDirs(t, nil, "rw:/mnt/work", "ro:/mnt/skills", "rw:/mnt/work/nested/deep", "ro:/mnt/work/ro")
	b.write("_mnt_work/f", "x")
	b.write("_mnt_work/ro", "a file under the name of a region")
	b.write("_mnt_work_ro/g", "x")
	for path, there := range map[string]bool{
		"mnt": true, "mnt/work": true, "mnt/work/f": true, "mnt/none": false, "etc": false, "mnt/work/none": false,
		"mnt/work/ro": true, "mnt/work/ro/g": true, "mnt/work/nested": true, "mnt/work/nested/deep": true, "mnt/work/nested/x": false,
	} {
		id := uint64(1)
		for part := range strings.SplitSeq(path, "/") {
			if id = b.look(id, part).NodeId; id == 0 {
				break
			}
		}
		if (id != 0) != there {
			t.Errorf("%s: node %d", path, id)
		}
	}
	if a, b := b.walk("mnt/work/f"), b.walk("mnt/work/f"); a != b {
		t.Errorf("two lookups gave nodes %d and %d", a, b)
	}
	for _, name := range []string{"", ".", "..", "a/b", "a\x00", strings.Repeat("n", 256)} {
		var out fuse.EntryOut
		if s := b.Lookup(nil, &fuse.InHeader{NodeId: b.walk("mnt/work")}, name, &out); s == fuse.OK {
			t.Errorf("lookup of %q succeeded", name)
		}
	}
}

// The way to a region inside a region may exist on the host, too: then both
// are shown, and neither can be taken away.
func TestNestedRegion(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w", "rw:/w/way/in")
	if err := os.MkdirAll(filepath.Join(b.root, "_w/way/other"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("_w_way_in/f", "inside")
	w, way := b.walk("w"), b.walk("w/way")
	b.walk("w/way/in/f")
	b.walk("w/way/other")
	status(t, "rmdir of the way", b.Rmdir(nil, &fuse.InHeader{NodeId: w}, "way"), unix.EBUSY)
	status(t, "rmdir of the region", b.Rmdir(nil, &fuse.InHeader{NodeId: way}, "in"), unix.EBUSY)
	status(t, "rename of the way", b.Rename(nil, &fuse.RenameIn{InHeader: fuse.InHeader{NodeId: w}, Newdir: w}, "way", "x"), unix.EBUSY)
	status(t, "mkdir of the region", b.Mkdir(nil, &fuse.MkdirIn{InHeader: fuse.InHeader{NodeId: way}}, "in", &fuse.EntryOut{}), unix.EEXIST)

	var open fuse.OpenOut
	status(t, "opendir", b.OpenDir(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: way}}, &open), 0)
	list := fuse.NewDirEntryList(make([]byte, 4096), 0)
	status(t, "readdir", b.ReadDir(nil, &fuse.ReadIn{Fh: open.Fh}, list), 0)
	entries, err := fuse.ParseDirEntries(list.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name] = true
	}
	if len(entries) != 4 || !names["in"] || !names["other"] {
		t.Errorf("the way lists %v", names)
	}
	b.ReleaseDir(&fuse.ReleaseIn{Fh: open.Fh})

	if err := os.RemoveAll(filepath.Join(b.root, "_w/way")); err != nil {
		t.Fatal(err)
	}
	b.walk("w/way/in/f") // without the host's directory the table makes it
}

// A directory that two regions show must be two nodes, and a file must not
// move between them.
func TestOverlappingRegions(t *testing.T) {
	root := t.TempDir()
	b := serveRegions(t, root, nil,
		mapping.Region{Virtual: "/a", Host: filepath.Join(root, "shared")},
		mapping.Region{Virtual: "/b", Host: filepath.Join(root, "shared/sub")},
		mapping.Region{Virtual: "/c", Host: filepath.Join(root, "shared"), Agent: mapping.ReadOnly},
		mapping.Region{Virtual: "/d", Host: filepath.Join(root, "separate")},
	)
	b.write("shared/sub/f", "x")
	a, b2, c := b.walk("a/sub/f"), b.walk("b/f"), b.walk("c/sub/f")
	if a == b2 || b2 == c || a == c {
		t.Errorf("nodes %d, %d and %d", a, b2, c)
	}
	rename := func(from, to string) fuse.Status {
		return b.Rename(nil, &fuse.RenameIn{InHeader: fuse.InHeader{NodeId: b.walk(from)}, Newdir: b.walk(to)}, "f", "g")
	}
	status(t, "rename between overlapping regions", rename("b", "a"), unix.EXDEV)
	status(t, "rename out of the read-only one", rename("c/sub", "a"), unix.EROFS)
	status(t, "rename between separate regions", rename("a/sub", "d"), 0)
}

// A write is refused by the node it goes to, whatever the request claims.
func TestReadOnlyByNode(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w", "ro:/r")
	b.write("_r/f", "text")
	b.write("_w/f", "text")
	r, f, w := b.walk("r"), b.walk("r/f"), b.walk("w")
	head := fuse.InHeader{NodeId: f}
	dir := fuse.InHeader{NodeId: r}
	var open fuse.OpenOut
	status(t, "open to read", b.Open(nil, &fuse.OpenIn{InHeader: head}, &open), 0)
	defer b.Release(nil, &fuse.ReleaseIn{Fh: open.Fh})
	var mine fuse.OpenOut
	status(t, "open of the other", b.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: b.walk("w/f")}, Flags: unix.O_RDWR}, &mine), 0)
	defer b.Release(nil, &fuse.ReleaseIn{Fh: mine.Fh})
	var entry fuse.EntryOut
	var created fuse.CreateOut
	set := func(valid uint32) fuse.Status {
		in := fuse.SetAttrIn{}
		in.NodeId, in.Valid, in.Fh = f, valid, open.Fh
		return b.SetAttr(nil, &in, &fuse.AttrOut{})
	}
	_, written := b.Write(nil, &fuse.WriteIn{InHeader: head, Fh: open.Fh}, []byte("evil"))
	_, copied := b.CopyFileRange(nil, &fuse.CopyFileRangeIn{FhIn: mine.Fh, FhOut: open.Fh, Len: 4})
	for what, got := range map[string]fuse.Status{
		"open to write":    b.Open(nil, &fuse.OpenIn{InHeader: head, Flags: unix.O_WRONLY}, &fuse.OpenOut{}),
		"open to truncate": b.Open(nil, &fuse.OpenIn{InHeader: head, Flags: unix.O_TRUNC}, &fuse.OpenOut{}),
		"create":           b.Create(nil, &fuse.CreateIn{InHeader: dir, Flags: unix.O_RDWR}, "new", &created),
		"create of a file": b.Create(nil, &fuse.CreateIn{InHeader: dir, Flags: unix.O_RDWR}, "f", &created),
		"tmpfile":          b.Tmpfile(nil, &fuse.CreateIn{InHeader: dir, Flags: unix.O_RDWR}, &created),
		"mkdir":            b.Mkdir(nil, &fuse.MkdirIn{InHeader: dir}, "new", &entry),
		"mknod":            b.Mknod(nil, &fuse.MknodIn{InHeader: dir, Mode: unix.S_IFREG}, "new", &entry),
		"symlink":          b.Symlink(nil, &dir, "x", "new", &entry),
		"link in":          b.Link(nil, &fuse.LinkIn{InHeader: dir, Oldnodeid: b.walk("w/f")}, "new", &entry),
		"link out":         b.Link(nil, &fuse.LinkIn{InHeader: fuse.InHeader{NodeId: w}, Oldnodeid: f}, "new", &entry),
		"unlink":           b.Unlink(nil, &dir, "f"),
		"rmdir":            b.Rmdir(nil, &dir, "f"),
		"rename out":       b.Rename(nil, &fuse.RenameIn{InHeader: dir, Newdir: w}, "f", "new"),
		"rename in":        b.Rename(nil, &fuse.RenameIn{InHeader: fuse.InHeader{NodeId: w}, Newdir: r}, "f", "new"),
		"chmod":            set(fuse.FATTR_MODE),
		"chown":            set(fuse.FATTR_UID),
		"truncate":         set(fuse.FATTR_SIZE),
		"ftruncate":        set(fuse.FATTR_SIZE | fuse.FATTR_FH),
		"utimes":           set(fuse.FATTR_MTIME | fuse.FATTR_MTIME_NOW),
		"setxattr":         b.SetXAttr(nil, &fuse.SetXAttrIn{InHeader: head}, "user.a", nil),
		"removexattr":      b.RemoveXAttr(nil, &head, "user.a"),
		"access":           b.Access(nil, &fuse.AccessIn{InHeader: head, Mask: fuse.W_OK}),
	} {
		status(t, what, got, unix.EROFS)
	}
	// These have a file opened for reading, which says no by itself.
	status(t, "write", written, unix.EBADF)
	status(t, "copy", copied, unix.EBADF)
	status(t, "fallocate", b.Fallocate(nil, &fuse.FallocateIn{InHeader: head, Fh: open.Fh, Length: 1}), unix.EBADF)
	if got, _ := os.ReadFile(filepath.Join(b.root, "_r/f")); string(got) != "text" {
		t.Errorf("the file reads %q", got)
	}
}
