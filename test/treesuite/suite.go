package treesuite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// Subject is a tree under test and the facts about it. Directories are given
// as the test's own process sees them.
type Subject struct {
	// Dir is an empty writable directory to work in. Its parents, and those
	// of the other directories, can be searched by every user.
	Dir string
	// Host is the directory that stands behind Dir, for changes behind the
	// tree's back. Equal to Dir for a plain directory; empty: not reachable.
	Host string
	// Other is a second writable directory in another region of the same
	// filesystem; empty: there is none.
	Other string
	// ReadOnly is a directory in which every write must fail with EROFS, and
	// ReadOnlyHost the directory behind it, in which the suite makes files.
	// Empty: there is none.
	ReadOnly, ReadOnlyHost string
	// Synthetic is a directory that only the mapping makes; empty: none.
	Synthetic string
	// Single is the owner that everything is shown as; nil: owners are real.
	Single *Account
	// Quota says that the directories have a quota, though one that the suite
	// does not reach ([RunQuota] does): statfs shows it, and room beyond a
	// file's size cannot be had.
	Quota bool
	// Quick makes large directories and trees smaller; the walk over 10,000
	// files visits 1,000 then.
	Quick bool
}

// Account is an owner by its numbers.
type Account struct{ UID, GID int }

// Run runs every test on one subject.
func Run(t *testing.T, make func(t *testing.T) Subject) {
	s := make(t)
	groups := []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"errno", testErrno}, {"names", testNames}, {"files", testFiles}, {"append", testAppend},
		{"mmap", testMmap}, {"holes", testHoles}, {"attributes", testAttributes}, {"owner", testOwner},
		{"privilege bits", testPrivilegeBits}, {"links", testLinks}, {"rename", testRename}, {"unlinked", testUnlinked},
		{"directories", testDirectories}, {"special files", testSpecial}, {"locks", testLocks},
		{"read-only", testReadOnly}, {"synthetic", testSynthetic}, {"host changes", testHostChanges},
		{"replaced", testReplaced}, {"host races", testHostRaces}, {"hammer", testHammer}, {"deep tree", testDeep}, {"walk", testWalk},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) { g.run(t, s) })
	}
}

// fresh makes a directory for one test and returns it with its host side
// ("" if that is not reachable).
func fresh(t *testing.T, s Subject) (dir, host string) {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == '#' {
			return '_'
		}
		return r
	}, t.Name())
	if len(name) > 200 {
		name = name[len(name)-200:]
	}
	dir = filepath.Join(s.Dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if s.Host != "" {
		host = filepath.Join(s.Host, name)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		if err != nil && host != "" { // what the test made on the host may not be the tree's to remove
			err = os.RemoveAll(host)
		}
		if err != nil {
			t.Errorf("clearing up: %.300s", err)
		}
	})
	return dir, host
}

// want fails the test unless err is one of the given errors; none given
// means success.
func want(t *testing.T, what string, err error, errs ...unix.Errno) {
	t.Helper()
	if len(errs) == 0 {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	for _, e := range errs {
		if is(err, e) {
			return
		}
	}
	t.Errorf("%s: got %v, want %v", what, err, errs)
}

func is(err error, e unix.Errno) bool {
	for err != nil {
		if got, ok := err.(unix.Errno); ok {
			return got == e
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		err = u.Unwrap()
	}
	return false
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, name, content string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(content), 0o644))
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return string(b)
}

func lstat(t *testing.T, name string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		t.Fatalf("lstat %s: %v", filepath.Base(name), err)
	}
	return st
}

// open opens a file for the time of the test.
func open(t *testing.T, name string, flags int, mode os.FileMode) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, flags, mode)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// as runs f on a thread of its own with another user's rights. It needs root.
func as(t *testing.T, who Account, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.SkipArchitectural(t, "acting as another user needs root")
	}
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with us
		defer close(done)
		unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		_, _, e1 := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(who.GID), uintptr(who.GID), uintptr(who.GID))
		_, _, e2 := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(who.UID), uintptr(who.UID), uintptr(who.UID))
		if e1 != 0 || e2 != 0 {
			t.Errorf("becoming user %d: %v, %v", who.UID, e1, e2)
			return
		}
		f()
	}()
	<-done
}
