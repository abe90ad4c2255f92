package fs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

func (b bench) rename(from, to string) {
	b.t.Helper()
	if err := os.Rename(filepath.Join(b.root, from), filepath.Join(b.root, to)); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) mkdir(name string) {
	b.t.Helper()
	if err := os.Mkdir(filepath.Join(b.root, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// open opens as a thread and closes again.
func (b bench) open(thread uint32, id uint64) fuse.Status {
	in := fuse.OpenIn{}
	in.NodeId, in.Pid = id, thread
	var out fuse.OpenOut
	s := b.Open(nil, &in, &out)
	if s == fuse.OK {
		b.Release(nil, &fuse.ReleaseIn{Fh: out.Fh})
	}
	return s
}

// A thread is refused what has lost its name, and let through when it asks
// for the same again; that counts for no other thread and no later call.
func TestRefusedOnce(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		b.write("_w/f", "old")
		f := b.walk("w/f")
		b.stat(f)
		b.write("_w/g", "new")
		b.rename("_w/g", "_w/f")
		status(t, "open", b.open(1, f), unix.ESTALE)
		status(t, "open by another thread", b.open(2, f), unix.ESTALE)
		status(t, "second try", b.open(1, f), 0)
		status(t, "next call", b.open(1, f), unix.ESTALE)
		// The kernel's second try by a path: the new file, whatever happens
		// to its name meanwhile.
		in := fuse.InHeader{NodeId: b.walk("w")}
		in.Pid = 1
		var found fuse.EntryOut
		status(t, "lookup", b.Lookup(nil, &in, "f", &found), 0)
		b.write("_w/g", "newer")
		b.rename("_w/g", "_w/f")
		status(t, "second try by the path", b.open(1, found.NodeId), 0)
		status(t, "next call", b.open(1, found.NodeId), unix.ESTALE)
	})
}

// Both directories of a rename have lost their names: the kernel tries again
// only once.
func TestRefusedTogether(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.mkdir("_w/a")
	b.mkdir("_w/b")
	b.write("_w/a/f", "x")
	in := fuse.RenameIn{}
	in.NodeId, in.Newdir = b.walk("w/a"), b.walk("w/b")
	b.rename("_w/a", "_w/a2")
	b.rename("_w/b", "_w/b2")
	status(t, "rename", b.Rename(nil, &in, "f", "g"), unix.ESTALE)
	status(t, "second try", b.Rename(nil, &in, "f", "g"), 0)
}

// A directory that was only looked up may be somebody's working directory:
// it is found again whatever its name.
func TestLookedUpDirectoryIsHeld(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		b.mkdir("_w/d")
		d := b.walk("w/d")
		b.rename("_w/d", "_w/e")
		status(t, "stat", b.stat(d), 0)
		var made fuse.EntryOut
		in := fuse.MkdirIn{Mode: 0o755}
		in.NodeId = d
		status(t, "mkdir", b.Mkdir(nil, &in, "x", &made), unix.ESTALE)
		status(t, "second try", b.Mkdir(nil, &in, "x", &made), 0)
		b.rename("_w/e/x", "_w/x")
		status(t, "stat of a directory that was made", b.stat(made.NodeId), 0)
	})
}

// Running out of descriptors is EMFILE and not the host's doing.
func TestOutOfDescriptors(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.mkdir("_w/d")
	b.write("_w/d/f", "x")
	f := b.walk("w/d/f")
	b.stat(f)
	b.evictOne(t, b.walk("w/d"))
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	free, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(free)
	small := unix.Rlimit{Cur: uint64(free), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &small); err != nil {
		t.Fatal(err)
	}
	got := b.open(1, f)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	status(t, "open", got, unix.EMFILE)
	status(t, "open with room again", b.open(1, f), 0)
}

// evictOne closes the descriptor of one node.
func (b bench) evictOne(t *testing.T, id uint64) {
	t.Helper()
	b.mu.Lock()
	n := b.nodes[id]
	fd := b.takeLocked(n)
	b.mu.Unlock()
	if fd < 0 {
		t.Fatal("it is not held")
	}
	unix.Close(fd)
}

// A file without a name is opened again by its descriptor.
func TestTmpfileHasNoName(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	in := fuse.CreateIn{Flags: unix.O_RDWR, Mode: unix.S_IFREG | 0o600}
	in.NodeId = b.walk("w")
	var out fuse.CreateOut
	s := b.Tmpfile(nil, &in, &out)
	if s == fuse.Status(unix.EOPNOTSUPP) {
		t.Log("no temporary files here")
		return
	}
	status(t, "tmpfile", s, 0)
	status(t, "open", b.open(1, out.NodeId), 0)
	b.Release(nil, &fuse.ReleaseIn{Fh: out.Fh})
}
