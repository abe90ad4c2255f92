package treesuite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testReadOnly tries every call that writes, on every kind of file, in a
// read-only region: none may succeed, and nothing on the host may change.
func testReadOnly(t *testing.T, s Subject) {
	if s.ReadOnly == "" {
		testenv.SkipArchitectural(t, "there is no read-only region")
	}
	put(t, filepath.Join(s.ReadOnlyHost, "file"), "text")
	must(t, os.Mkdir(filepath.Join(s.ReadOnlyHost, "dir"), 0o755))
	put(t, filepath.Join(s.ReadOnlyHost, "dir/file"), "text")
	must(t, os.Symlink("file", filepath.Join(s.ReadOnlyHost, "link")))
	must(t, unix.Mkfifo(filepath.Join(s.ReadOnlyHost, "fifo"), 0o644))
	rw, _ := fresh(t, s)
	put(t, filepath.Join(rw, "file"), "mine")
	must(t, os.Mkdir(filepath.Join(rw, "dir"), 0o755))
	before := snapshot(t, s.ReadOnlyHost)

	ro := func(name string) string { return filepath.Join(s.ReadOnly, name) }
	mine := func(name string) string { return filepath.Join(rw, name) }
	openFlags := func(name string, flags int) func() error {
		return func() error {
			fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o644)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	then := []unix.Timespec{{Sec: 1}, {Sec: 2}}
	utimes := func(name string, ts []unix.Timespec) func() error {
		return func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, name, ts, unix.AT_SYMLINK_NOFOLLOW) }
	}
	rename := func(from, to string, flags uint) func() error {
		return func() error { return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags) }
	}
	erofs := []unix.Errno{unix.EROFS}
	border := []unix.Errno{unix.EROFS, unix.EXDEV}
	root := []unix.Errno{unix.EROFS, unix.EBUSY, unix.EXDEV}
	if strings.HasPrefix(s.Dir, s.ReadOnly+"/") { // a directory cannot be moved into itself
		root = append(root, unix.EINVAL)
	}
	cases := []struct {
		name string
		call func() error
		want []unix.Errno
	}{
		{"open O_WRONLY", openFlags(ro("file"), unix.O_WRONLY), erofs},
		{"open O_RDWR", openFlags(ro("file"), unix.O_RDWR), erofs},
		{"open O_TRUNC", openFlags(ro("file"), unix.O_RDONLY|unix.O_TRUNC), erofs},
		{"open O_APPEND", openFlags(ro("file"), unix.O_WRONLY|unix.O_APPEND), erofs},
		{"open O_CREAT of a new name", openFlags(ro("new"), unix.O_CREAT|unix.O_WRONLY), erofs},
		{"open O_CREAT read-only of a new name", openFlags(ro("new"), unix.O_CREAT|unix.O_RDONLY), erofs},
		{"open O_CREAT of a file", openFlags(ro("file"), unix.O_CREAT|unix.O_RDONLY), nil},
		{"open O_EXCL of a file", openFlags(ro("file"), unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY), []unix.Errno{unix.EEXIST}},
		{"open O_TMPFILE", openFlags(ro("dir"), unix.O_TMPFILE|unix.O_RDWR), erofs},
		{"open through a link", openFlags(ro("link"), unix.O_WRONLY), erofs},
		{"mkdir", func() error { return unix.Mkdir(ro("new"), 0o755) }, erofs},
		{"mkdir of a name in use", func() error { return unix.Mkdir(ro("dir"), 0o755) }, []unix.Errno{unix.EEXIST}},
		{"mknod file", func() error { return unix.Mknod(ro("new"), unix.S_IFREG|0o644, 0) }, erofs},
		{"mknod pipe", func() error { return unix.Mknod(ro("new"), unix.S_IFIFO|0o644, 0) }, erofs},
		{"mknod socket", func() error { return unix.Mknod(ro("new"), unix.S_IFSOCK|0o644, 0) }, erofs},
		{"symlink", func() error { return unix.Symlink("x", ro("new")) }, erofs},
		{"unlink", func() error { return unix.Unlink(ro("file")) }, erofs},
		{"unlink of a link", func() error { return unix.Unlink(ro("link")) }, erofs},
		{"unlink of nothing", func() error { return unix.Unlink(ro("none")) }, []unix.Errno{unix.EROFS, unix.ENOENT}},
		{"rmdir", func() error { return unix.Rmdir(ro("dir")) }, []unix.Errno{unix.EROFS}},
		{"rename inside", rename(ro("file"), ro("new"), 0), erofs},
		{"rename over", rename(ro("file"), ro("dir/file"), 0), erofs},
		{"rename out", rename(ro("file"), mine("out"), 0), border},
		{"rename out over a file", rename(ro("file"), mine("file"), 0), border},
		{"rename in", rename(mine("file"), ro("in"), 0), border},
		{"rename a directory in", rename(mine("dir"), ro("in"), 0), border},
		{"exchange across", rename(mine("file"), ro("file"), unix.RENAME_EXCHANGE), border},
		{"rename of the root", rename(s.ReadOnly, mine("root"), 0), root},
		{"rename onto the root", rename(mine("dir"), s.ReadOnly, 0), append(root, unix.ENOTEMPTY)},
		{"rmdir of the root", func() error { return unix.Rmdir(s.ReadOnly) }, append(root, unix.ENOTEMPTY)},
		{"link inside", func() error { return unix.Link(ro("file"), ro("new")) }, border},
		{"link out", func() error { return unix.Link(ro("file"), mine("out")) }, border},
		{"link in", func() error { return unix.Link(mine("file"), ro("in")) }, border},
		{"chmod", func() error { return unix.Chmod(ro("file"), 0o600) }, erofs},
		{"chmod of a directory", func() error { return unix.Chmod(ro("dir"), 0o700) }, erofs},
		{"chmod of the root", func() error { return unix.Chmod(s.ReadOnly, 0o700) }, erofs},
		{"chmod of a pipe", func() error { return unix.Chmod(ro("fifo"), 0o600) }, erofs},
		{"chown", func() error { return unix.Chown(ro("file"), os.Geteuid(), os.Getegid()) }, erofs},
		{"lchown of a link", func() error { return unix.Lchown(ro("link"), os.Geteuid(), os.Getegid()) }, erofs},
		{"utimensat now", utimes(ro("file"), now), erofs},
		{"utimensat", utimes(ro("file"), then), erofs},
		{"utimensat of a link", utimes(ro("link"), then), erofs},
		{"utimensat of a directory", utimes(ro("dir"), then), erofs},
		{"truncate", func() error { return unix.Truncate(ro("file"), 0) }, erofs},
		{"truncate to more", func() error { return unix.Truncate(ro("file"), 100) }, erofs},
		{"setxattr", func() error { return unix.Setxattr(ro("file"), "user.a", []byte("b"), 0) }, erofs},
		{"setxattr of a directory", func() error { return unix.Setxattr(ro("dir"), "user.a", []byte("b"), 0) }, erofs},
		{"removexattr", func() error { return unix.Removexattr(ro("file"), "user.a") }, erofs},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { want(t, c.name, c.call(), c.want...) })
	}
	t.Run("through a reader's descriptor", func(t *testing.T) {
		f := open(t, ro("file"), os.O_RDONLY, 0)
		fd := int(f.Fd())
		want(t, "fchmod", unix.Fchmod(fd, 0o600), unix.EROFS)
		want(t, "fchown", unix.Fchown(fd, os.Geteuid(), os.Getegid()), unix.EROFS)
		want(t, "futimens", unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), then, 0), unix.EROFS)
		want(t, "ftruncate", unix.Ftruncate(fd, 0), unix.EINVAL)
		want(t, "fallocate", unix.Fallocate(fd, 0, 0, 100), unix.EBADF)
		_, err := unix.Open("/proc/self/fd/"+itoa(fd), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		want(t, "opening it again to write", err, unix.EROFS)
		_, err = unix.Mmap(fd, 0, 4, unix.PROT_WRITE, unix.MAP_SHARED)
		want(t, "a writable mapping", err, unix.EACCES)
		m, err := unix.Mmap(fd, 0, 4, unix.PROT_READ, unix.MAP_SHARED)
		want(t, "a mapping to read", err)
		want(t, "making it writable", unix.Mprotect(m, unix.PROT_READ|unix.PROT_WRITE), unix.EACCES)
		unix.Munmap(m)
	})
	if got := read(t, ro("dir/file")); got != "text" {
		t.Errorf("a file in it reads %q", got)
	}
	if after := snapshot(t, s.ReadOnlyHost); after != before {
		t.Errorf("on the host something changed:\n%s\nbefore:\n%s", after, before)
	}
}

// testSynthetic tries to change directories that only the mapping makes.
func testSynthetic(t *testing.T, s Subject) {
	if s.Synthetic == "" {
		testenv.SkipArchitectural(t, "there is no such directory")
	}
	rw, _ := fresh(t, s)
	in := func(name string) string { return filepath.Join(s.Synthetic, name) }
	var st unix.Stat_t
	want(t, "stat of a name outside the mapping", unix.Stat(in("none"), &st), unix.ENOENT)
	want(t, "mkdir", unix.Mkdir(in("new"), 0o755), unix.EROFS)
	want(t, "symlink", unix.Symlink("x", in("new")), unix.EROFS)
	want(t, "mknod", unix.Mkfifo(in("new"), 0o644), unix.EROFS)
	_, err := unix.Open(in("new"), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	want(t, "create", err, unix.EROFS)
	_, err = unix.Open(s.Synthetic, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	want(t, "O_TMPFILE", err, unix.EROFS)
	put(t, filepath.Join(rw, "f"), "x")
	want(t, "rename in", unix.Rename(filepath.Join(rw, "f"), in("new")), unix.EROFS, unix.EXDEV)
	want(t, "link in", unix.Link(filepath.Join(rw, "f"), in("new")), unix.EROFS, unix.EXDEV)
	want(t, "chmod", unix.Chmod(s.Synthetic, 0o777), unix.EROFS)
	entries, err := os.ReadDir(s.Synthetic)
	must(t, err)
	if len(entries) == 0 {
		t.Error("it is empty")
	}
	for _, e := range entries {
		if !e.IsDir() {
			t.Errorf("%s is listed as %v", e.Name(), e.Type())
		}
		want(t, "rmdir of "+e.Name(), unix.Rmdir(in(e.Name())), unix.EROFS, unix.EBUSY)
		want(t, "rename of "+e.Name(), unix.Rename(in(e.Name()), in("x")), unix.EROFS, unix.EBUSY)
	}
	var fsStat unix.Statfs_t
	want(t, "statfs", unix.Statfs(s.Synthetic, &fsStat))
}
