package fs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
)

// What is written through a file that can only be written is not kept by the
// client's kernel. Everybody else must see it at once all the same: who reads
// the file, who has mapped it, and the host.
func TestUncachedWritesAreSeen(t *testing.T) {
	const size = 3*4096 + 100
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, Passthrough: fs.PassthroughOff}, fs.MountOptions{}, nil)
	name := filepath.Join(m.Dir, "mnt/user-data/workspace/f")
	host := filepath.Join(w.host(t, "/mnt/user-data/workspace"), "f")
	for _, flags := range []int{os.O_CREATE | os.O_EXCL, os.O_TRUNC, os.O_CREATE | os.O_TRUNC | os.O_APPEND} {
		writer, err := os.OpenFile(name, os.O_WRONLY|flags, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		if _, err := writer.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		both, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer both.Close()
		mapped, err := unix.Mmap(int(both.Fd()), 0, 4*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(mapped)
		want := make([]byte, size)
		check := func(what string) {
			t.Helper()
			got := make([]byte, len(want)+1)
			n, _ := both.ReadAt(got, 0)
			if !bytes.Equal(got[:n], want) {
				t.Fatalf("%#x: %s: a reader sees %d other bytes, want %d", flags, what, n, len(want))
			}
			if !bytes.Equal(mapped[:len(want)], want) {
				t.Fatalf("%#x: %s: a mapping shows something else", flags, what)
			}
			if got, err := os.ReadFile(host); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%#x: %s: the host has %d other bytes, want %d: %v", flags, what, len(got), len(want), err)
			}
		}
		check("at first")
		for i := range 40 {
			// The last page is partly written, and read, before it grows.
			more := bytes.Repeat([]byte{byte('a' + i%26)}, 60)
			if _, err := writer.Write(more); err != nil {
				t.Fatal(err)
			}
			want = append(want, more...)
			check("after a write")
			// A change by the mapping, not yet written back, beside the next write.
			mapped[i*17] = byte(i)
			want[i*17] = byte(i)
			if flags&os.O_APPEND == 0 {
				if _, err := writer.WriteAt([]byte("between"), int64(i*97+20)); err != nil {
					t.Fatal(err)
				}
				copy(want[i*97+20:], "between")
			}
			if err := unix.Msync(mapped, unix.MS_SYNC); err != nil {
				t.Fatal(err)
			}
			check("after a change by the mapping")
		}
	}
}
