package fs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/mapping"
)

// unasked mounts the regions of a world read-only and without opens, and
// returns the mount, its skills and the host's.
func unasked(t *testing.T, w world, spec childSpec) (m *mounted, dir, host string) {
	t.Helper()
	spec.Regions, spec.Opens, spec.UID, spec.GID = w.regions, fs.OpensUnasked, 1000, 1000
	m = mount(t, spec, fs.MountOptions{Access: mapping.ReadOnly}, nil)
	return m, filepath.Join(m.Dir, mapping.Skills), w.host(t, mapping.Skills)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func reads(name, want string) func() bool {
	return func() bool {
		b, err := os.ReadFile(name)
		return err == nil && string(b) == want
	}
}

// What is known is opened, read and listed without a request.
func TestUnaskedAsksNothing(t *testing.T) {
	m, dir, host := unasked(t, newWorld(t), childSpec{})
	write(t, filepath.Join(host, "f"), "text")
	time.Sleep(300 * time.Millisecond) // until the host's clock has gone on
	use := func() {
		if !reads(filepath.Join(dir, "f"), "text")() {
			t.Error("the file cannot be read")
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	}
	for try := 0; ; try++ {
		use()
		before := m.stats(t).Requests
		began := time.Now()
		for range 10 {
			use()
		}
		after := m.stats(t).Requests
		if time.Since(began) > fs.CacheTime/2 && try < 10 {
			continue // the kernel may have asked again
		}
		if after != before {
			t.Errorf("%d requests for 10 files opened and read and 10 directories listed", after-before)
		}
		return
	}
}

// watchedOrNot runs a test with and without a watch of the host.
func watchedOrNot(t *testing.T, test func(*testing.T, childSpec)) {
	t.Run("watched", func(t *testing.T) { test(t, childSpec{}) })
	t.Run("not watched", func(t *testing.T) { test(t, childSpec{NoInstance: true}) })
}

// What the host changes is seen within a second, also by whoever has the file
// open.
func TestUnaskedSeesTheHost(t *testing.T) { watchedOrNot(t, unaskedSeesTheHost) }

func unaskedSeesTheHost(t *testing.T, spec childSpec) {
	_, dir, host := unasked(t, newWorld(t), spec)
	name, behind := filepath.Join(dir, "f"), filepath.Join(host, "f")
	write(t, behind, "one")
	seen(t, "a new file", reads(name, "one"))
	held, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	reread := func(want string) func() bool {
		return func() bool {
			b := make([]byte, 100)
			n, err := held.ReadAt(b, 0)
			return errors.Is(err, io.EOF) && string(b[:n]) == want
		}
	}
	for _, text := range []string{"two", "2", "", "three, which is longer"} {
		write(t, behind, text)
		seen(t, fmt.Sprintf("%q by an open file", text), reread(text))
		seen(t, fmt.Sprintf("%q", text), reads(name, text))
	}
	write(t, behind+".new", "replaced")
	if err := os.Rename(behind+".new", behind); err != nil {
		t.Fatal(err)
	}
	seen(t, "a replacement", reads(name, "replaced"))
	if !reread("three, which is longer")() {
		t.Error("who holds the old file does not read it any more")
	}
	if err := os.Remove(behind); err != nil {
		t.Fatal(err)
	}
	seen(t, "a removal", func() bool { _, err := os.Stat(name); return os.IsNotExist(err) })
	seen(t, "a removal, by a listing", func() bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 0
	})
	if err := os.Mkdir(behind, 0o755); err != nil {
		t.Fatal(err)
	}
	seen(t, "a directory in its place", func() bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 1 && entries[0].IsDir()
	})
}

// A change that does not show in size and time of change is seen as well: one
// that follows another at once, and one after which the time was set back.
func TestUnaskedSeesHiddenChanges(t *testing.T) { watchedOrNot(t, unaskedSeesHiddenChanges) }

func unaskedSeesHiddenChanges(t *testing.T, spec childSpec) {
	_, dir, host := unasked(t, newWorld(t), spec)
	name, behind := filepath.Join(dir, "f"), filepath.Join(host, "f")
	for i := range 20 {
		a, b := fmt.Sprintf("a%02d", i), fmt.Sprintf("b%02d", i)
		write(t, behind, a)
		if _, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		write(t, behind, b)
		seen(t, b, reads(name, b))
	}
	time.Sleep(300 * time.Millisecond) // until the host's clock has gone on
	before, err := os.Stat(behind)
	if err != nil {
		t.Fatal(err)
	}
	write(t, behind, "b99")
	if err := os.Chtimes(behind, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	seen(t, "a change whose time was set back", reads(name, "b99"))
}

// A mapping shows what the host has written, once somebody has looked at the
// file.
func TestUnaskedMapping(t *testing.T) {
	_, dir, host := unasked(t, newWorld(t), childSpec{})
	write(t, filepath.Join(host, "f"), "old")
	f, err := os.Open(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	if string(m) != "old" {
		t.Errorf("the mapping reads %q", m)
	}
	write(t, filepath.Join(host, "f"), "new")
	seen(t, "the change in the mapping", func() bool {
		_, err := f.Stat()
		return err == nil && string(m) == "new"
	})
}

// Large files are read whole, by several at once and with few descriptors,
// and what is held for them is given back.
func TestUnaskedLargeFiles(t *testing.T) {
	for _, budget := range []int{0, 32} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			m, dir, host := unasked(t, newWorld(t), childSpec{MaxDescriptors: budget})
			texts := map[string]string{}
			for i := range 60 {
				name := fmt.Sprintf("f%02d", i)
				texts[name] = strings.Repeat(name, 1<<18/3+i*4096)
				write(t, filepath.Join(host, name), texts[name])
			}
			var all sync.WaitGroup
			for worker := range 4 {
				all.Go(func() {
					for i := range 60 {
						name := fmt.Sprintf("f%02d", (i+worker*15)%60)
						b, err := os.ReadFile(filepath.Join(dir, name))
						if err != nil || string(b) != texts[name] {
							t.Errorf("%s: %d bytes, %v", name, len(b), err)
						}
					}
				})
			}
			all.Wait()
			if s := m.stats(t); s.Descriptors > s.Budget {
				t.Errorf("%d descriptors are held, the budget is %d", s.Descriptors, s.Budget)
			}
			f, err := os.Open(filepath.Join(dir, "f00"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if at, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_HOLE); err != nil || at != int64(len(texts["f00"])) {
				t.Errorf("the first hole is at %d, %v", at, err)
			}
			if err := f.Sync(); err != nil {
				t.Errorf("fsync: %v", err)
			}
		})
	}
}

// Directories are listed whole, each name once: large ones, by several at
// once, from the middle, and ones in which a region lies.
func TestUnaskedListings(t *testing.T) {
	w := newWorld(t)
	w.regions = append(w.regions, mapping.Region{Virtual: mapping.Skills + "/in/custom", Host: t.TempDir()})
	_, dir, host := unasked(t, w, childSpec{})
	var want []string
	for i := range 3000 {
		name := fmt.Sprintf("a-name-of-some-length-%04d", i)
		want = append(want, name)
		write(t, filepath.Join(host, name), "")
	}
	want = append(want, "in")
	list := func() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d names, want %d", len(got), len(want))
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				list()
			}
		})
	}
	all.Wait()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	first, err := d.Readdirnames(100)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Sync(); err != nil {
		t.Errorf("fsync: %v", err)
	}
	rest, err := d.Readdirnames(-1)
	if err != nil || len(first)+len(rest) != len(want) {
		t.Errorf("%d and %d names, %v", len(first), len(rest), err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "in")); err != nil || len(entries) != 1 || entries[0].Name() != "custom" {
		t.Errorf("the directory above a region lists %v, %v", entries, err)
	}
}

// The server refuses by itself, even on a mount that would let writes through.
func TestUnaskedRefusesByItself(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, Opens: fs.OpensUnasked, UID: 1000, GID: 1000}, fs.MountOptions{}, nil)
	write(t, filepath.Join(w.host(t, mapping.Workspace), "f"), "text")
	dir := filepath.Join(m.Dir, mapping.Workspace)
	name := filepath.Join(dir, "f")
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: got %v, want EROFS", what, err)
		}
	}
	_, err := os.OpenFile(name, os.O_WRONLY, 0)
	refused("open to write", err)
	if !reads(name, "text")() { // from here on the kernel does not ask
		t.Error("the file cannot be read")
	}
	if f, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
		_, err = f.WriteString("x")
		refused("write", err)
		refused("fallocate", unix.Fallocate(int(f.Fd()), 0, 0, 100))
		f.Close()
	} else {
		refused("the second open to write", err)
	}
	refused("truncate", os.Truncate(name, 0))
	refused("unlink", os.Remove(name))
	refused("create", os.WriteFile(filepath.Join(dir, "g"), nil, 0o644))
	refused("chmod", os.Chmod(name, 0o600))
	if b, err := os.ReadFile(filepath.Join(w.host(t, mapping.Workspace), "f")); err != nil || string(b) != "text" {
		t.Errorf("the host's file reads %q, %v", b, err)
	}
}

// A read-only superblock answers access(2) and statfs(2) exactly.
func TestUnaskedSuperblock(t *testing.T) {
	_, dir, _ := unasked(t, newWorld(t), childSpec{})
	if err := unix.Access(dir, unix.W_OK); !errors.Is(err, unix.EROFS) {
		t.Errorf("access: got %v, want EROFS", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Flags&unix.ST_RDONLY == 0 {
		t.Errorf("statfs: flags %#x, %v, want ST_RDONLY", st.Flags, err)
	}
}

// A server that is closed leaves nothing open, also while listings and files
// are read.
func TestUnaskedClose(t *testing.T) {
	m, dir, host := unasked(t, newWorld(t), childSpec{})
	write(t, filepath.Join(host, "f"), strings.Repeat("x", 1<<20))
	for i := range 500 {
		write(t, filepath.Join(host, fmt.Sprint(i)), "")
	}
	f, err := os.Open(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Readdirnames(1); err != nil {
		t.Fatal(err)
	}
	if got := m.ask(t, "close"); got != "closed <nil>" {
		t.Error(got)
	}
	if got := m.ask(t, "resources"); !strings.HasSuffix(got, "[]") {
		t.Errorf("what is left: %s", got)
	}
	if _, err := f.ReadAt(make([]byte, 10), 1<<19); !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
		t.Logf("a read after the end: %v", err) // the kernel may have read ahead
	}
}
