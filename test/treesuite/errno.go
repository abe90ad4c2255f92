package treesuite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// testErrno runs calls that must fail, each with the errno that a plain
// directory gives.
func testErrno(t *testing.T, s Subject) {
	dir, _ := fresh(t, s)
	in := func(name string) string { return filepath.Join(dir, name) }
	put(t, in("file"), "x")
	must(t, os.MkdirAll(in("full/sub"), 0o755))
	must(t, os.Mkdir(in("empty"), 0o755))
	must(t, os.Symlink("nowhere", in("dangling")))
	must(t, os.Symlink("loop", in("loop")))
	must(t, os.Symlink("full", in("todir")))
	openFlags := func(name string, flags int) func() error {
		return func() error {
			fd, err := unix.Open(in(name), flags|unix.O_CLOEXEC, 0o644)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	var st unix.Stat_t
	cases := []struct {
		name string
		call func() error
		want unix.Errno
	}{
		{"stat of nothing", func() error { return unix.Stat(in("none"), &st) }, unix.ENOENT},
		{"stat through a file", func() error { return unix.Stat(in("file/x"), &st) }, unix.ENOTDIR},
		{"stat of a dangling link", func() error { return unix.Stat(in("dangling"), &st) }, unix.ENOENT},
		{"stat of a loop", func() error { return unix.Stat(in("loop"), &st) }, unix.ELOOP},
		{"open of nothing", openFlags("none", unix.O_RDONLY), unix.ENOENT},
		{"open O_EXCL of a file", openFlags("file", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR), unix.EEXIST},
		{"open O_EXCL of a dangling link", openFlags("dangling", unix.O_CREAT|unix.O_EXCL|unix.O_RDWR), unix.EEXIST},
		{"open a directory to write", openFlags("empty", unix.O_WRONLY), unix.EISDIR},
		{"open O_CREAT of a directory", openFlags("empty", unix.O_CREAT|unix.O_RDWR), unix.EISDIR},
		{"open O_DIRECTORY of a file", openFlags("file", unix.O_DIRECTORY), unix.ENOTDIR},
		{"open O_NOFOLLOW of a link", openFlags("todir", unix.O_NOFOLLOW), unix.ELOOP},
		{"open in nothing", openFlags("none/x", unix.O_CREAT|unix.O_RDWR), unix.ENOENT},
		{"mkdir of a name in use", func() error { return unix.Mkdir(in("file"), 0o755) }, unix.EEXIST},
		{"mkdir in nothing", func() error { return unix.Mkdir(in("none/x"), 0o755) }, unix.ENOENT},
		{"mkdir in a file", func() error { return unix.Mkdir(in("file/x"), 0o755) }, unix.ENOTDIR},
		{"rmdir of a full directory", func() error { return unix.Rmdir(in("full")) }, unix.ENOTEMPTY},
		{"rmdir of a file", func() error { return unix.Rmdir(in("file")) }, unix.ENOTDIR},
		{"rmdir of a link to a directory", func() error { return unix.Rmdir(in("todir")) }, unix.ENOTDIR},
		{"rmdir of .", func() error { return unix.Rmdir(in("empty") + "/.") }, unix.EINVAL},
		{"rmdir of nothing", func() error { return unix.Rmdir(in("none")) }, unix.ENOENT},
		{"unlink of a directory", func() error { return unix.Unlink(in("empty")) }, unix.EISDIR},
		{"unlink of nothing", func() error { return unix.Unlink(in("none")) }, unix.ENOENT},
		{"unlink through a file", func() error { return unix.Unlink(in("file/x")) }, unix.ENOTDIR},
		{"rename of nothing", func() error { return unix.Rename(in("none"), in("x")) }, unix.ENOENT},
		{"rename of a file over a directory", func() error { return unix.Rename(in("file"), in("empty")) }, unix.EISDIR},
		{"rename of a directory over a file", func() error { return unix.Rename(in("empty"), in("file")) }, unix.ENOTDIR},
		{"rename over a full directory", func() error { return unix.Rename(in("empty"), in("full")) }, unix.ENOTEMPTY},
		{"rename into itself", func() error { return unix.Rename(in("full"), in("full/sub/x")) }, unix.EINVAL},
		{"link of a directory", func() error { return unix.Link(in("empty"), in("x")) }, unix.EPERM},
		{"link over a name in use", func() error { return unix.Link(in("file"), in("empty")) }, unix.EEXIST},
		{"link of nothing", func() error { return unix.Link(in("none"), in("x")) }, unix.ENOENT},
		{"symlink over a name in use", func() error { return unix.Symlink("a", in("file")) }, unix.EEXIST},
		{"readlink of a file", func() error { _, err := unix.Readlink(in("file"), make([]byte, 9)); return err }, unix.EINVAL},
		{"mknod over a name in use", func() error { return unix.Mknod(in("file"), unix.S_IFIFO|0o644, 0) }, unix.EEXIST},
		{"truncate of a directory", func() error { return unix.Truncate(in("empty"), 0) }, unix.EISDIR},
		{"truncate of nothing", func() error { return unix.Truncate(in("none"), 0) }, unix.ENOENT},
		{"truncate to less than nothing", func() error { return unix.Truncate(in("file"), -1) }, unix.EINVAL},
		{"chmod of nothing", func() error { return unix.Chmod(in("none"), 0o644) }, unix.ENOENT},
		{"chdir to a file", func() error { _, err := os.ReadDir(in("file")); return err }, unix.ENOTDIR},
		{"a name too long", func() error { return unix.Mkdir(in(strings.Repeat("n", 256)), 0o755) }, unix.ENAMETOOLONG},
		{"stat of a name too long", func() error { return unix.Stat(in(strings.Repeat("n", 256)), &st) }, unix.ENAMETOOLONG},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { want(t, c.name, c.call(), c.want) })
	}
	t.Run("descriptors", func(t *testing.T) { testDescriptorErrno(t, in("file")) })
}

func testDescriptorErrno(t *testing.T, name string) {
	r := open(t, name, os.O_RDONLY, 0)
	w := open(t, name, os.O_WRONLY, 0)
	buf := []byte("y")
	_, err := unix.Write(int(r.Fd()), buf)
	want(t, "write to a reader", err, unix.EBADF)
	_, err = unix.Read(int(w.Fd()), buf)
	want(t, "read from a writer", err, unix.EBADF)
	want(t, "ftruncate of a reader", unix.Ftruncate(int(r.Fd()), 0), unix.EINVAL)
	want(t, "fallocate of a reader", unix.Fallocate(int(r.Fd()), 0, 0, 10), unix.EBADF)
	_, err = unix.Seek(int(r.Fd()), 100, unix.SEEK_DATA)
	want(t, "data after the end", err, unix.ENXIO)
	_, err = unix.Seek(int(r.Fd()), -1, unix.SEEK_SET)
	want(t, "a position before the start", err, unix.EINVAL)
}
