package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// What must hold of files whose passthrough id is kept after the last close,
// whether there is room for few ids or for many.
func TestKeptBackings(t *testing.T) {
	for _, budget := range []int{32, 4096} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			w := newWorld(t)
			m := mount(t, childSpec{Regions: w.regions, MaxDescriptors: budget}, fs.MountOptions{}, nil)
			k := kept{dir: filepath.Join(m.Dir, "mnt/user-data/workspace"), host: w.host(t, "/mnt/user-data/workspace")}
			k.write(t, k.dir, "probe", "x")
			if m.stats(t).PassthroughOpens == 0 {
				testenv.Skip(t, "needs passthrough (Linux 6.9)")
			}
			before := m.stats(t).PlainOpens
			for name, f := range map[string]func(*testing.T, kept){
				"modes": alternateModes, "append": alternateAppend, "replaced": replaceOpen, "mapped": mapShared, "many": openMany,
			} {
				t.Run(name, func(t *testing.T) { f(t, k) })
			}
			s := m.stats(t)
			if s.PlainOpens != before {
				t.Errorf("%d opens were without passthrough", s.PlainOpens-before)
			}
			if s.Backings > int64(s.Descriptors) || s.Descriptors > s.Budget {
				t.Errorf("%d ids, %d descriptors, budget %d", s.Backings, s.Descriptors, s.Budget)
			}
		})
	}
}

// kept is a directory by the mount and by the host.
type kept struct{ dir, host string }

func (k kept) write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (k kept) same(t *testing.T, name, want string) {
	t.Helper()
	for _, dir := range []string{k.dir, k.host} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Fatalf("%s: %.40q, %v, want %.40q", name, got, err, want)
		}
	}
}

func alternateModes(t *testing.T, k kept) {
	name := filepath.Join(k.dir, "m")
	k.write(t, k.dir, "m", "")
	want := make([]byte, 300)
	for i := range 300 {
		f, err := os.OpenFile(name, []int{os.O_RDWR, os.O_WRONLY}[i%2], 0)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = byte('a' + i%26)
		if _, err := f.WriteAt(want[i:i+1], int64(i)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if f, err = os.Open(name); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EBADF) {
			t.Fatalf("writing by a descriptor for reading: %v", err)
		}
		got := make([]byte, i+1)
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want[:i+1]) {
			t.Fatalf("after %d writes: %q, %v", i+1, got, err)
		}
		f.Close()
		if i%50 == 49 { // while another has it open, too
			f, _ := os.Open(name)
			k.write(t, k.dir, "m", string(want[:i+1]))
			f.Close()
		}
	}
	k.same(t, "m", string(want))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k.same(t, "m", "")
}

func alternateAppend(t *testing.T, k kept) {
	k.write(t, k.dir, "a", "")
	var want strings.Builder
	for i := range 100 {
		text := fmt.Sprintln("line", i)
		f, err := os.OpenFile(filepath.Join([]string{k.dir, k.host}[i%2], "a"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
		want.WriteString(text)
	}
	k.same(t, "a", want.String())
}

// replaceOpen puts other files at a name whose file has a kept id, while it
// is open and while it is not.
func replaceOpen(t *testing.T, k kept) {
	name := filepath.Join(k.dir, "r")
	for i := range 40 {
		text := fmt.Sprint("version ", i)
		k.write(t, k.dir, "r", text)
		held, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			err = os.Remove(name)
		case 1:
			k.write(t, k.dir, "r2", "other")
			err = os.Rename(name+"2", name)
		case 2:
			k.write(t, k.host, "r2", "other")
			err = os.Rename(filepath.Join(k.host, "r2"), filepath.Join(k.host, "r"))
		case 3:
			held.Close()
			err = os.Remove(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%4 != 3 {
			got := make([]byte, len(text))
			if _, err := held.ReadAt(got, 0); err != nil || string(got) != text {
				t.Fatalf("the file that is held: %q, %v, want %q", got, err, text)
			}
			held.Close()
		}
		if i%4 == 1 || i%4 == 2 {
			k.same(t, "r", "other")
		} else {
			k.write(t, k.dir, "r", "again")
			k.same(t, "r", "again")
		}
	}
}

func mapShared(t *testing.T, k kept) {
	k.write(t, k.dir, "p", strings.Repeat("-", 4096))
	for i := range 20 {
		f, err := os.OpenFile(filepath.Join(k.dir, "p"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		mem[i] = 'x'
		k.same(t, "p", strings.Repeat("x", i+1)+strings.Repeat("-", 4095-i))
		if err := unix.Munmap(mem); err != nil {
			t.Fatal(err)
		}
	}
}

func openMany(t *testing.T, k kept) {
	for round := range 3 {
		for i := range 120 {
			name := fmt.Sprint("many", i)
			text := fmt.Sprint(name, " in round ", round)
			k.write(t, k.dir, name, text)
			k.same(t, name, text)
		}
	}
}

// An id is given back when the kernel forgets the file.
func TestBackingsEnd(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	dir := filepath.Join(m.Dir, "mnt/user-data/workspace")
	for i := range 50 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s := m.stats(t); s.PassthroughOpens == 0 {
		testenv.Skip(t, "needs passthrough (Linux 6.9)")
	} else if s.Backings != 50 {
		t.Errorf("%d ids are kept of 50 files", s.Backings)
	}
	for i := range 50 {
		if err := os.Remove(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	s := m.stats(t)
	for end := time.Now().Add(5 * time.Second); s.Backings > 0 && time.Now().Before(end); {
		s = m.stats(t) // the kernel forgets a little later
	}
	if s.Backings != 0 {
		t.Errorf("%d ids are kept of files that are gone", s.Backings)
	}
}
