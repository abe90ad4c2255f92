package treesuite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testQuotaUnlinked keeps files without names: they count until they are
// closed.
func testQuotaUnlinked(t *testing.T, s QuotaSubject) {
	name := filepath.Join(s.Dir, "f")
	put(t, name, string(make([]byte, 3*block)))
	f := open(t, name, os.O_RDWR, 0)
	again := open(t, name, os.O_RDONLY, 0)
	must(t, os.Remove(name))
	wantCount(t, s, count{3 * block, 1})
	_, err := f.WriteAt([]byte("x"), 5*block-1)
	want(t, "a write to it", err)
	wantCount(t, s, count{5 * block, 1})
	must(t, f.Close())
	wantCount(t, s, count{5 * block, 1})
	must(t, again.Close())
	wantCount(t, s, count{})

	put(t, name, "old")
	f = open(t, name, os.O_RDONLY, 0)
	put(t, name+"2", string(make([]byte, 2*block)))
	must(t, os.Rename(name+"2", name))
	wantCount(t, s, count{3 * block, 2})
	must(t, f.Close())
	wantCount(t, s, count{2 * block, 1})

	// A mapping keeps it, too.
	f = open(t, name, os.O_RDWR, 0)
	m, err := unix.Mmap(int(f.Fd()), 0, block, unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	must(t, f.Close())
	must(t, os.Remove(name))
	wantCount(t, s, count{2 * block, 1})
	must(t, unix.Munmap(m))
	wantCount(t, s, count{})

	// O_PATH keeps it, too, and it can be opened again from there.
	put(t, name, "content")
	p := open(t, name, unix.O_PATH, 0)
	must(t, os.Remove(name))
	wantCount(t, s, count{block, 1})
	f = open(t, fmt.Sprintf("/proc/self/fd/%d", p.Fd()), os.O_RDWR, 0)
	wantCount(t, s, count{block, 1})
	must(t, f.Close())
	wantCount(t, s, count{block, 1})
	must(t, p.Close())
	wantCount(t, s, count{})

	fd, err := unix.Open(s.Dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if is(err, unix.EOPNOTSUPP) {
		return
	}
	must(t, err)
	_, err = unix.Write(fd, make([]byte, 2*block))
	must(t, err)
	wantCount(t, s, count{2 * block, 1})
	must(t, unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW))
	must(t, unix.Close(fd))
	wantCount(t, s, count{2 * block, 1})
	must(t, os.Remove(name))
	wantCount(t, s, count{})
	fd, err = unix.Open(s.Dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	must(t, err)
	wantCount(t, s, count{0, 1})
	must(t, unix.Close(fd))
	wantCount(t, s, count{})
}

func testQuotaLinks(t *testing.T, s QuotaSubject) {
	name := filepath.Join(s.Dir, "f")
	put(t, name, "content")
	for i := range 5 {
		must(t, os.Link(name, fmt.Sprint(name, i)))
	}
	wantCount(t, s, count{block, 1})
	must(t, os.Link(name, filepath.Join(s.Other, "f")))
	must(t, os.Truncate(name+"3", 5*block))
	wantCount(t, s, count{5 * block, 1})
	must(t, os.Remove(name))
	for i := range 5 {
		must(t, os.Remove(fmt.Sprint(name, i)))
	}
	wantCount(t, s, count{5 * block, 1})
	f := open(t, filepath.Join(s.Other, "f"), os.O_RDONLY, 0)
	must(t, os.Remove(filepath.Join(s.Other, "f")))
	wantCount(t, s, count{5 * block, 1})
	must(t, f.Close())
	wantCount(t, s, count{})
}

// testQuotaTwoTrees opens in one tree what the other removes.
func testQuotaTwoTrees(t *testing.T, s QuotaSubject) {
	if s.Elsewhere == "" {
		return // there is no second tree
	}
	here, there := filepath.Join(s.Dir, "f"), filepath.Join(s.Elsewhere, "f")
	put(t, here, string(make([]byte, 2*block)))
	a := open(t, here, os.O_RDWR, 0)
	b := open(t, there, os.O_RDWR, 0)
	must(t, os.Remove(there))
	wantCount(t, s, count{2 * block, 1})
	must(t, b.Close())
	wantCount(t, s, count{2 * block, 1})
	_, err := a.WriteAt([]byte("x"), 2*block)
	want(t, "a write to it", err)
	wantCount(t, s, count{3 * block, 1})
	must(t, a.Close())
	wantCount(t, s, count{})

	put(t, there, "x")
	b = open(t, there, os.O_RDWR, 0)
	must(t, os.WriteFile(here+"2", make([]byte, 4*block), 0o644))
	must(t, os.Rename(here+"2", here)) // takes b's name away, from the other side
	wantCount(t, s, count{5 * block, 2})
	must(t, b.Close())
	wantCount(t, s, count{4 * block, 1})
	must(t, os.Truncate(there, s.Bytes))
	_, err = open(t, here+"3", os.O_CREATE|os.O_RDWR, 0o644).Write([]byte("x"))
	want(t, "a write when the other tree has taken all", err, unix.EDQUOT)
}
