package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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

// lookFor looks a name up as a thread.
func (b bench) lookFor(thread uint32, parent uint64, name string) uint64 {
	b.t.Helper()
	in := fuse.InHeader{NodeId: parent}
	in.Pid = thread
	var out fuse.EntryOut
	status(b.t, "lookup of "+name, b.Lookup(nil, &in, name, &out), 0)
	return out.NodeId
}

// replace gives the name of a file to another one.
func (b bench) replace(name string) {
	b.t.Helper()
	b.write("_w/replacement", "new")
	b.rename("_w/replacement", name)
}

// The kernel's second attempt may come late: a client may not run for seconds
// on a loaded machine. What it holds it may use all the same.
func TestSecondAttemptComesLate(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		b.write("_w/f", "old")
		f := b.walk("w/f")
		b.stat(f)
		b.replace("_w/f")
		status(t, "open", b.open(1, f), unix.ESTALE)
		b.mu.Lock()
		for to, r := range b.refusals {
			r.at = r.at.Add(-maxRefusal / 2)
			b.refusals[to] = r
			b.nodes[f].seen = r.at.Add(-time.Second)
		}
		b.mu.Unlock()
		status(t, "late second attempt", b.open(1, f), 0)
		status(t, "next call", b.open(1, f), unix.ESTALE)
	})
}

// A file is replaced, and the directory from where its path is walked has lost
// its name: the second attempt finds the new file there.
func TestRefusedAllTheWayUp(t *testing.T) {
	forms(t, func(t *testing.T, b bench) {
		b.mkdir("_w/d")
		b.write("_w/d/f", "old")
		d, f := b.walk("w/d"), b.walk("w/d/f")
		b.stat(f)
		b.replace("_w/d/f")
		b.rename("_w/d", "_w/was")
		status(t, "open", b.open(1, f), unix.ESTALE)
		status(t, "second attempt", b.open(1, b.lookFor(1, d, "f")), 0)
	})
	// The same where the old file cannot even be found any more.
	b := serveDirs(t, func(o *Options) { o.MaxDescriptors = minDescriptors }, "rw:/w")
	b.mkdir("_w/d")
	b.write("_w/d/f", "old")
	d, f := b.walk("w/d"), b.walk("w/d/f")
	if err := os.Remove(filepath.Join(b.root, "_w/d/f")); err != nil {
		t.Fatal(err)
	}
	b.write("_w/d/f", "new")
	b.rename("_w/d", "_w/was")
	status(t, "open", b.open(1, f), unix.ESTALE)
	status(t, "second attempt", b.open(1, b.lookFor(1, d, "f")), 0)
	var out fuse.EntryOut
	link := fuse.LinkIn{Oldnodeid: f}
	link.NodeId = d
	status(t, "link", b.Link(nil, &link, "g", &out), unix.ESTALE)
	link.Oldnodeid = b.look(d, "f").NodeId
	status(t, "second attempt", b.Link(nil, &link, "g", &out), 0)
}

// Threads of another pid namespace all have the number 0. One must not take
// away another's second attempt.
func TestThreadsWithoutNumber(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.write("_w/f", "old")
	b.write("_w/g", "old")
	b.write("_w/h", "kept")
	f, g, h := b.walk("w/f"), b.walk("w/g"), b.walk("w/h")
	for _, id := range []uint64{f, g, h} {
		status(t, "first open", b.open(unknownThread, id), 0)
	}
	b.replace("_w/f")
	b.replace("_w/g")
	status(t, "open of one", b.open(unknownThread, f), unix.ESTALE)
	status(t, "open of another", b.open(unknownThread, g), unix.ESTALE)
	status(t, "open of a third", b.open(unknownThread, h), 0)
	status(t, "second attempt", b.open(unknownThread, f), 0)
	status(t, "the other's second attempt", b.open(unknownThread, g), 0)
}

// However many threads have ended after a refusal, the newest refusals stay.
func TestRefusalsAreBounded(t *testing.T) {
	b := serveDirs(t, nil, "rw:/w")
	b.write("_w/f", "old")
	f := b.walk("w/f")
	b.stat(f)
	b.replace("_w/f")
	for thread := uint32(1); thread <= 3*maxRefusals; thread++ {
		status(t, "open", b.open(thread, f), unix.ESTALE)
		if thread > 1 {
			status(t, "second attempt of the one before", b.open(thread-1, f), 0)
			status(t, "open", b.open(thread-1, f), unix.ESTALE) // and it ends
		}
	}
	if n := len(b.refusals); n > maxRefusals {
		t.Errorf("%d refusals are remembered", n)
	}
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
