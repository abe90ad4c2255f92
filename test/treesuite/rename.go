package treesuite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testRename covers renames with their flags, across directories and regions.
func testRename(t *testing.T, s Subject) {
	t.Run("replace", func(t *testing.T) {
		dir, _ := fresh(t, s)
		in := func(name string) string { return filepath.Join(dir, name) }
		put(t, in("a"), "new")
		put(t, in("b"), "old")
		old := open(t, in("b"), os.O_RDONLY, 0)
		must(t, os.Rename(in("a"), in("b")))
		if got := read(t, in("b")); got != "new" {
			t.Errorf("the new name reads %q", got)
		}
		buf := make([]byte, 9)
		if n, err := old.ReadAt(buf, 0); string(buf[:n]) != "old" {
			t.Errorf("the replaced file, still open, reads %q, %v", buf[:n], err)
		}
		if _, err := os.Lstat(in("a")); !os.IsNotExist(err) {
			t.Errorf("the old name: %v", err)
		}
	})
	t.Run("flags", func(t *testing.T) {
		dir, _ := fresh(t, s)
		in := func(name string) string { return filepath.Join(dir, name) }
		rename := func(from, to string, flags uint) error {
			return unix.Renameat2(unix.AT_FDCWD, in(from), unix.AT_FDCWD, in(to), flags)
		}
		put(t, in("a"), "a")
		must(t, os.MkdirAll(in("d/sub"), 0o755))
		want(t, "NOREPLACE onto a name in use", rename("a", "d", unix.RENAME_NOREPLACE), unix.EEXIST)
		want(t, "EXCHANGE with nothing", rename("a", "none", unix.RENAME_EXCHANGE), unix.ENOENT)
		want(t, "NOREPLACE", rename("a", "b", unix.RENAME_NOREPLACE))
		want(t, "EXCHANGE", rename("b", "d", unix.RENAME_EXCHANGE))
		if got := read(t, in("d")); got != "a" {
			t.Errorf("after the exchange %q", got)
		}
		if _, err := os.Stat(in("b/sub")); err != nil {
			t.Errorf("after the exchange: %v", err)
		}
		want(t, "both flags", rename("b", "d", unix.RENAME_EXCHANGE|unix.RENAME_NOREPLACE), unix.EINVAL)
	})
	t.Run("parents", func(t *testing.T) {
		dir, _ := fresh(t, s)
		in := func(name string) string { return filepath.Join(dir, name) }
		must(t, os.MkdirAll(in("p/q/r"), 0o755))
		put(t, in("p/q/r/f"), "x")
		inside := open(t, in("p/q/r"), os.O_RDONLY, 0)
		must(t, os.Rename(in("p"), in("p2")))
		must(t, os.Rename(in("p2/q"), in("q2")))
		if got := read(t, in("q2/r/f")); got != "x" {
			t.Errorf("under renamed parents %q", got)
		}
		fd, err := unix.Openat(int(inside.Fd()), "f", unix.O_RDWR|unix.O_CLOEXEC, 0)
		want(t, "open relative to a directory whose parents were renamed", err)
		unix.Close(fd)
		want(t, "create relative to it", unix.Mkdirat(int(inside.Fd()), "new", 0o755))
		if _, err := os.Stat(in("q2/r/new")); err != nil {
			t.Error(err)
		}
	})
	t.Run("between regions", func(t *testing.T) {
		if s.Other == "" {
			testenv.SkipArchitectural(t, "there is no second region")
		}
		dir, _ := fresh(t, s)
		put(t, filepath.Join(dir, "f"), "moved")
		must(t, os.MkdirAll(filepath.Join(dir, "d/sub"), 0o755))
		put(t, filepath.Join(dir, "d/sub/f"), "deep")
		held := open(t, filepath.Join(dir, "f"), os.O_RDWR, 0)
		to := filepath.Join(s.Other, filepath.Base(dir))
		must(t, os.Mkdir(to, 0o755))
		defer os.RemoveAll(to)
		want(t, "rename a file", os.Rename(filepath.Join(dir, "f"), filepath.Join(to, "f")))
		want(t, "rename a directory", os.Rename(filepath.Join(dir, "d"), filepath.Join(to, "d")))
		want(t, "link", os.Link(filepath.Join(to, "f"), filepath.Join(dir, "back")))
		_, err := held.WriteString("MOVED")
		want(t, "write to a file moved while open", err)
		if got := read(t, filepath.Join(to, "f")); got != "MOVED" {
			t.Errorf("moved file reads %q", got)
		}
		if got := read(t, filepath.Join(to, "d/sub/f")); got != "deep" {
			t.Errorf("moved directory reads %q", got)
		}
		want(t, "write below it", appendTo(filepath.Join(to, "d/sub/f"), "er"))
	})
}

// testUnlinked covers what is deleted while in use.
func testUnlinked(t *testing.T, s Subject) {
	t.Run("file", func(t *testing.T) {
		dir, _ := fresh(t, s)
		name := filepath.Join(dir, "f")
		f := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
		_, err := f.WriteString("still")
		must(t, err)
		must(t, os.Remove(name))
		put(t, name, "another")
		var st unix.Stat_t
		want(t, "fstat", unix.Fstat(int(f.Fd()), &st))
		if st.Nlink != 0 || st.Size != 5 {
			t.Errorf("fstat shows %d links and size %d", st.Nlink, st.Size)
		}
		_, err = f.WriteAt([]byte("STILL"), 0)
		want(t, "write", err)
		want(t, "truncate", f.Truncate(4))
		want(t, "fchmod", f.Chmod(0o600))
		want(t, "fsync", f.Sync())
		buf := make([]byte, 9)
		if n, _ := f.ReadAt(buf, 0); string(buf[:n]) != "STIL" {
			t.Errorf("it reads %q", buf[:n])
		}
		if got := read(t, name); got != "another" {
			t.Errorf("its name reads %q", got)
		}
	})
	t.Run("directory", func(t *testing.T) {
		dir, _ := fresh(t, s)
		gone := filepath.Join(dir, "d")
		must(t, os.Mkdir(gone, 0o755))
		f := open(t, gone, os.O_RDONLY, 0)
		must(t, os.Remove(gone))
		want(t, "create in it", unix.Mkdirat(int(f.Fd()), "x", 0o755), unix.ENOENT)
		var st unix.Stat_t
		want(t, "fstat", unix.Fstat(int(f.Fd()), &st))
		if names, err := f.Readdirnames(-1); len(names) != 0 {
			t.Errorf("it lists %v, %v", names, err)
		}
	})
	t.Run("without name", func(t *testing.T) {
		dir, _ := fresh(t, s)
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o640)
		if is(err, unix.EOPNOTSUPP) {
			testenv.SkipArchitectural(t, "O_TMPFILE is not supported")
		}
		must(t, err)
		f := os.NewFile(uintptr(fd), "tmpfile")
		defer f.Close()
		_, err = f.WriteString("named later")
		must(t, err)
		if names, _ := os.ReadDir(dir); len(names) != 0 {
			t.Errorf("it has a name: %v", names)
		}
		name := filepath.Join(dir, "f")
		err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
		want(t, "giving it a name", err)
		if got := read(t, name); got != "named later" {
			t.Errorf("it reads %q", got)
		}
		if st := lstat(t, name); st.Nlink != 1 || st.Mode&0o777 != 0o640 {
			t.Errorf("it has %d links and mode %o", st.Nlink, st.Mode)
		}
	})
}
