package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// linkTree is a directory full of links for tests of path resolution.
func linkTree(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, d := range []string{"d/e/f", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	for _, f := range []string{"file", "d/e/file"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"l": "file", "ld": "d", "abs": dir + "/d/e", "up": "d/e/../..", "d/up": "..", "slash": "d/", "dangling": "nowhere", "deep": "d/nowhere/x",
		"loop": "loop", "a": "b", "b": "a", "proc": "/proc/self/root", "procfd": "/proc/self/cwd", "root": "/", "dot": ".", "fslash": "file/",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// sameOpen opens in both ways and compares what was opened, or the error.
func sameOpen(t *testing.T, dir, p string, flags int, resolve uint64) {
	t.Helper()
	d, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(d)
	identity := func(fd int, err error) (unix.Stat_t, error) {
		var st unix.Stat_t
		if err != nil {
			return st, err
		}
		defer unix.Close(fd)
		return st, unix.Fstat(fd, &st)
	}
	want, wantErr := identity(unix.Openat2(d, p, &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}))
	got, gotErr := identity(walkOpen(d, p, flags, 0, resolve))
	if (wantErr == nil) != (gotErr == nil) {
		// Only the kernel can tell procfs's ordinary links from the others.
		if strings.Contains(p, "proc") && gotErr != nil {
			return
		}
		t.Fatalf("%q, flags %#x, resolve %#x: openat2 says %v, walkOpen %v", p, flags, resolve, wantErr, gotErr)
	}
	if wantErr == nil && (want.Dev != got.Dev || want.Ino != got.Ino) {
		t.Fatalf("%q, flags %#x, resolve %#x: two files", p, flags, resolve)
	}
}

var (
	openFlags    = []int{unix.O_PATH, unix.O_PATH | unix.O_NOFOLLOW, unix.O_PATH | unix.O_DIRECTORY, unix.O_RDONLY | unix.O_NONBLOCK, unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW}
	openResolves = []uint64{unix.RESOLVE_NO_MAGICLINKS, unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS}
)

// FuzzWalkOpen compares the resolution in steps with the kernel's.
func FuzzWalkOpen(f *testing.F) {
	if !haveOpenat2() {
		f.Skip("this kernel has no openat2 to compare with")
	}
	for _, p := range []string{
		"file", "file/", "file/.", "l", "l/", "ld", "ld/", "ld/e/file", "abs/file", "abs/f/", "up/d", "d/up/file", "slash", "slash/e", "dangling", "dangling/", "deep", "loop", "a/x", "a", "proc", "proc/etc",
		"procfd", "procfd/", "root", "root/etc", "dot/dot/file", "d/../file", "d//e///file", "..", ".", "./", "/", "//", "nowhere", "nowhere/..", "d/e/nowhere", "fslash", "/proc/self/root", "/proc/self/exe", "/proc/self/fd/0", "",
	} {
		f.Add(p)
	}
	dir := linkTree(f)
	f.Fuzz(func(t *testing.T, p string) {
		if strings.ContainsRune(p, 0) || len(p) > 1000 || strings.HasPrefix(p, "/dev") || strings.HasPrefix(p, "/sys") {
			return
		}
		for _, flags := range openFlags {
			for _, resolve := range openResolves {
				sameOpen(t, dir, p, flags, resolve)
			}
		}
	})
}
