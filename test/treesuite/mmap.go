package treesuite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testMmap maps files shared and private.
func testMmap(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	name := filepath.Join(dir, "f")
	must(t, os.WriteFile(name, bytes.Repeat([]byte("a"), 10000), 0o644))
	f := open(t, name, os.O_RDWR, 0)
	m, err := unix.Mmap(int(f.Fd()), 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	copy(m[5000:], "mapped")
	want(t, "msync", unix.Msync(m, unix.MS_SYNC))
	if got := read(t, name)[5000:5006]; got != "mapped" {
		t.Errorf("a store in a mapping reads as %q", got)
	}
	if host != "" {
		if got := read(t, filepath.Join(host, "f"))[5000:5006]; got != "mapped" {
			t.Errorf("after msync the host reads %q", got)
		}
	}
	_, err = f.WriteAt([]byte("write"), 100)
	must(t, err)
	if got := string(m[100:105]); got != "write" {
		t.Errorf("a write shows in the mapping as %q", got)
	}
	copy(m[200:], "late")
	must(t, f.Close())
	must(t, unix.Munmap(m))
	if got := read(t, name)[200:204]; got != "late" {
		t.Errorf("a store before munmap reads as %q", got)
	}
	if host != "" {
		if got := read(t, filepath.Join(host, "f"))[200:204]; got != "late" {
			t.Errorf("a store before munmap is on the host %q", got)
		}
	}

	r := open(t, name, os.O_RDONLY, 0)
	p, err := unix.Mmap(int(r.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	must(t, err)
	p[0] = 'X'
	must(t, unix.Munmap(p))
	if got := read(t, name)[0]; got != 'a' {
		t.Errorf("a private store reached the file: %q", got)
	}
	_, err = unix.Mmap(int(r.Fd()), 0, 4096, unix.PROT_WRITE, unix.MAP_SHARED)
	want(t, "a writable shared mapping of a reader", err, unix.EACCES)
}
