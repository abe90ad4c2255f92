package treesuite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testDeep goes down further than any path can name.
func testDeep(t *testing.T, s Subject) {
	dir, _ := fresh(t, s)
	depth := 1000
	if s.Quick {
		depth = 200
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	for i := range depth {
		if err := unix.Mkdirat(fd, "deep", 0o755); err != nil {
			t.Fatalf("mkdir at depth %d: %v", i, err)
		}
		next, err := unix.Openat(fd, "deep", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("open at depth %d: %v", i, err)
		}
		unix.Close(fd)
		fd = next
	}
	f, err := unix.Openat(fd, "bottom", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	want(t, "create at the bottom", err)
	unix.Close(f)
	unix.Close(fd)
	// Taken down from the top, one level at a time: os.RemoveAll would keep a
	// descriptor per level.
	top, next := filepath.Join(dir, "deep"), filepath.Join(dir, "next")
	for i := range depth - 1 {
		if err := unix.Rename(filepath.Join(top, "deep"), next); err != nil {
			t.Fatalf("rename of level %d: %v", i, err)
		}
		must(t, unix.Rmdir(top))
		must(t, unix.Rename(next, top))
	}
	want(t, "unlink at the bottom", unix.Unlink(filepath.Join(top, "bottom")))
}

// testWalk makes many files on the host, more than descriptors can be had
// for, and visits each through the tree.
func testWalk(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	if host == "" {
		host = dir
	}
	dirs, perDir := 100, 100
	if s.Quick || testing.Short() {
		dirs, perDir = 50, 20
	}
	for i := range dirs {
		sub := filepath.Join(host, fmt.Sprintf("d%03d", i))
		must(t, os.Mkdir(sub, 0o755))
		for j := range perDir {
			fd, err := unix.Open(filepath.Join(sub, fmt.Sprintf("f%03d", j)), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			must(t, err)
			if j == 0 {
				unix.Write(fd, []byte(sub[len(sub)-4:]))
			}
			unix.Close(fd)
		}
	}
	count := func() (files int) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Type().IsRegular() {
				files++
				if _, err := d.Info(); err != nil {
					return err
				}
			}
			return nil
		})
		must(t, err)
		return files
	}
	for range 2 {
		if n := count(); n != dirs*perDir {
			t.Fatalf("the walk found %d files, want %d", n, dirs*perDir)
		}
	}
	for i := range dirs { // long after their descriptors were closed
		name := fmt.Sprintf("d%03d", i)
		if got := read(t, filepath.Join(dir, name, "f000")); got != name {
			t.Fatalf("%s/f000 reads %q", name, got)
		}
	}
	for i := 0; i < dirs; i += 7 {
		name := filepath.Join(dir, fmt.Sprintf("d%03d", i))
		must(t, os.Rename(name, name+"-moved"))
		if got := read(t, name+"-moved/f000"); got != filepath.Base(name) {
			t.Fatalf("moved %s/f000 reads %q", filepath.Base(name), got)
		}
	}
}
