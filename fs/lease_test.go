package fs_test

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
)

// leased is a mounted tree whose workspace is watched.
type leased struct {
	*mounted
	in, host string // the workspace, in the tree and on the host
	world
}

func leaseTree(t *testing.T, spec childSpec) leased {
	t.Helper()
	w := newWorld(t)
	spec.Regions = w.regions
	m := mount(t, spec, fs.MountOptions{}, nil)
	return leased{m, filepath.Join(m.Dir, "mnt/user-data/workspace"), w.host(t, "/mnt/user-data/workspace"), w}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settle waits until everything that has happened on the host is told.
func (l leased) settle(t *testing.T) {
	t.Helper()
	if got := l.ask(t, "settle"); got != "settled" {
		t.Fatalf("got %q", got)
	}
}

// seen waits until a change shows, for as long as may pass without.
func seen(t *testing.T, what string, shows func() bool) {
	t.Helper()
	start := time.Now()
	for !shows() {
		if time.Since(start) > 5*time.Second {
			t.Fatalf("%s: the change is not seen", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if took := time.Since(start); took > fs.CacheTime+500*time.Millisecond {
		t.Errorf("%s: the change was seen after %v", what, took)
	}
}

// What was read once is not asked for again, for much longer than the kernel
// would keep it without watching.
func TestLeasesSaveRequests(t *testing.T) {
	l := leaseTree(t, childSpec{})
	for i := range 20 {
		dir := filepath.Join(l.host, fmt.Sprint("d", i))
		must(t, os.Mkdir(dir, 0o755))
		for j := range 10 {
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", j)), []byte("x"), 0o644))
		}
	}
	walk := func() (n int) {
		must(t, filepath.WalkDir(l.in, func(path string, _ os.DirEntry, err error) error {
			must(t, err)
			_, err = os.Lstat(path)
			must(t, err)
			if _, err := os.Lstat(path + ".absent"); !os.IsNotExist(err) {
				t.Fatal(err)
			}
			n++
			return nil
		}))
		return n
	}
	l.settle(t) // names of a directory that has just changed are not kept
	if n := walk(); n != 221 {
		t.Fatalf("%d names", n)
	}
	// Memory may be short, and the kernel drop what it may keep: one of some
	// walks is enough.
	const most = 3 * 21 // OPENDIR, RELEASEDIR, and one for a listing that was read
	for tries := 1; ; tries++ {
		time.Sleep(2 * fs.CacheTime)
		before := l.stats(t).Requests
		walk()
		got := l.stats(t).Requests - before
		t.Logf("%d requests", got)
		if got <= most {
			break
		}
		if tries == 4 {
			t.Fatalf("each walk made requests, the last %d, want at most %d", got, most)
		}
	}
	t.Logf("%+v", l.stats(t))
}

// Each change on the host shows in each way of looking, within the time that
// holds without leases.
func TestHostChangesAreSeen(t *testing.T) {
	for _, form := range []struct {
		name string
		spec childSpec
	}{
		{"passthrough", childSpec{UID: 1000, GID: 1000}},
		{"plain", childSpec{UID: 1000, GID: 1000, Passthrough: fs.PassthroughOff}},
		{"preserve", childSpec{Ownership: fs.Preserve}},
		{"unasked", childSpec{Opens: fs.OpensUnasked}},
	} {
		t.Run(form.name, func(t *testing.T) {
			l := leaseTree(t, form.spec)
			for _, c := range hostChanges {
				t.Run(c.name, func(t *testing.T) { c.run(t, l) })
			}
			if s := l.stats(t); s.Overflows != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

type hostChange struct {
	name string
	// before makes what is changed in dir on the host.
	before func(t *testing.T, dir string)
	change func(t *testing.T, dir string)
}

func put(t *testing.T, text string, path ...string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(path...), []byte(text), 0o644))
}

var hostChanges = []hostChange{
	{"contents", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) {
		f, err := os.OpenFile(filepath.Join(d, "x"), os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("new")
		must(t, err)
		must(t, f.Close())
	}},
	{"size", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) { must(t, os.Truncate(filepath.Join(d, "x"), 1)) }},
	{"mode", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) { must(t, os.Chmod(filepath.Join(d, "x"), 0o600)) }},
	{"time", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) {
		must(t, os.Chtimes(filepath.Join(d, "x"), time.Time{}, time.Unix(1e9, 5)))
	}},
	{"create", func(*testing.T, string) {}, func(t *testing.T, d string) { put(t, "new", d, "x") }},
	{"delete", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) { must(t, os.Remove(filepath.Join(d, "x"))) }},
	{"rename over", func(t *testing.T, d string) { put(t, "old", d, "x"); put(t, "newer", d, "y") }, func(t *testing.T, d string) {
		must(t, os.Rename(filepath.Join(d, "y"), filepath.Join(d, "x")))
	}},
	{"rename away", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) {
		must(t, os.Rename(filepath.Join(d, "x"), filepath.Join(d, "z")))
	}},
	{"directory replaced", func(t *testing.T, d string) {
		must(t, os.Mkdir(filepath.Join(d, "x"), 0o755))
		put(t, "old", d, "x/f")
		must(t, os.Mkdir(filepath.Join(d, "y"), 0o755))
		put(t, "newer", d, "y/f")
		put(t, "newer", d, "y/g")
	}, func(t *testing.T, d string) {
		must(t, unix.Renameat2(unix.AT_FDCWD, filepath.Join(d, "x"), unix.AT_FDCWD, filepath.Join(d, "y"), unix.RENAME_EXCHANGE))
	}},
	{"directory moved above", func(t *testing.T, d string) {
		must(t, os.MkdirAll(filepath.Join(d, "x/a/b"), 0o755))
		put(t, "old", d, "x/a/b/f")
	}, func(t *testing.T, d string) { must(t, os.Rename(filepath.Join(d, "x/a"), filepath.Join(d, "x/c"))) }},
	{"file in a directory", func(t *testing.T, d string) { must(t, os.Mkdir(filepath.Join(d, "x"), 0o755)) },
		func(t *testing.T, d string) { put(t, "new", d, "x/f") }},
	{"directory's mode", func(t *testing.T, d string) { must(t, os.Mkdir(filepath.Join(d, "x"), 0o755)) },
		func(t *testing.T, d string) { must(t, os.Chmod(filepath.Join(d, "x"), 0o700)) }},
	{"symlink retargeted", func(t *testing.T, d string) {
		must(t, os.Symlink("one", filepath.Join(d, "x")))
		must(t, os.Symlink("two2", filepath.Join(d, "y")))
	}, func(t *testing.T, d string) { must(t, os.Rename(filepath.Join(d, "y"), filepath.Join(d, "x"))) }},
	{"hard link made", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) {
		must(t, os.Link(filepath.Join(d, "x"), filepath.Join(d, "y")))
	}},
	{"through another name", func(t *testing.T, d string) {
		put(t, "old", d, "x")
		must(t, os.MkdirAll(filepath.Join(d, "far"), 0o755))
		must(t, os.Link(filepath.Join(d, "x"), filepath.Join(d, "far/y")))
	}, func(t *testing.T, d string) { put(t, "other", d, "far/y") }},
	{"another name unlinked", func(t *testing.T, d string) {
		put(t, "old", d, "x")
		must(t, os.Link(filepath.Join(d, "x"), d+".link"))
	}, func(t *testing.T, d string) { must(t, os.Remove(d+".link")) }},
	{"kind", func(t *testing.T, d string) { put(t, "old", d, "x") }, func(t *testing.T, d string) {
		must(t, os.Remove(filepath.Join(d, "x")))
		must(t, os.Mkdir(filepath.Join(d, "x"), 0o755))
	}},
}

// describe is all that can be seen of a directory and what is in it.
func describe(dir string, owner bool) string {
	var out bytes.Buffer
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		rel := strings.TrimPrefix(path, dir)
		if err != nil {
			fmt.Fprintf(&out, "%s: error\n", rel)
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			fmt.Fprintf(&out, "%s: %v\n", rel, err)
			return nil
		}
		fmt.Fprintf(&out, "%s: ino %d mode %o links %d size %d mtime %d", rel, st.Ino, st.Mode, st.Nlink, st.Size, st.Mtim.Nano())
		if owner {
			fmt.Fprintf(&out, " ctime %d", st.Ctim.Nano())
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			fmt.Fprintf(&out, " %q %v", data, err)
		case unix.S_IFLNK:
			to, err := os.Readlink(path)
			fmt.Fprintf(&out, " -> %q %v", to, err)
		}
		out.WriteByte('\n')
		return nil
	})
	for _, name := range []string{"x", "y", "z", "x/f", "x/a/b/f", "x/c/b/f"} {
		_, err := os.Stat(filepath.Join(dir, name))
		fmt.Fprintf(&out, "%s: %v\n", name, err == nil)
	}
	return out.String()
}

// run compares all that can be seen of the directory on both sides, with
// everything of it in the client's kernel before, and the same for a file
// that is held open and mapped.
func (c hostChange) run(t *testing.T, l leased) {
	dir := strings.ReplaceAll(c.name, " ", "-")
	in, host := filepath.Join(l.in, dir), filepath.Join(l.host, dir)
	must(t, os.Mkdir(host, 0o755))
	c.before(t, host)
	seen(t, "what was there before", func() bool { return describe(in, true) == describe(host, true) })
	l.settle(t)
	describe(in, true)
	held, err := os.Open(filepath.Join(in, "x"))
	var page []byte
	var st unix.Stat_t
	if err == nil {
		defer held.Close()
		must(t, unix.Fstat(int(held.Fd()), &st))
		if st.Mode&unix.S_IFMT == unix.S_IFREG {
			page, err = unix.Mmap(int(held.Fd()), 0, 1, unix.PROT_READ, unix.MAP_SHARED)
			must(t, err)
			defer unix.Munmap(page)
			_ = page[0]
		}
	}
	c.change(t, host)
	seen(t, "the directory", func() bool { return describe(in, true) == describe(host, true) })
	if held == nil {
		return
	}
	seen(t, "the open file", func() bool {
		var now unix.Stat_t
		must(t, unix.Fstat(int(held.Fd()), &now))
		for _, path := range []string{"x", "y", "z"} {
			var there unix.Stat_t
			if unix.Lstat(filepath.Join(host, path), &there) == nil && there.Ino == now.Ino {
				return there.Size == now.Size && there.Mode == now.Mode && there.Nlink == now.Nlink && there.Mtim == now.Mtim
			}
		}
		return now.Nlink == 0 || st.Mode&unix.S_IFMT == unix.S_IFDIR
	})
	if page != nil {
		data := make([]byte, 1)
		if n, _ := held.ReadAt(data, 0); n == 1 {
			seen(t, "the mapping", func() bool { return page[0] == data[0] })
		}
	}
}

// Nothing is kept by a tree that nobody uses: it gives its instance back, and
// what changes then is seen, too.
func TestQuietTreeLetsGo(t *testing.T) {
	l := leaseTree(t, childSpec{LeaseTime: 2 * time.Second})
	put(t, "old", l.host, "x")
	for range 2 {
		_, err := os.Stat(filepath.Join(l.in, "x"))
		must(t, err)
		if s := l.stats(t); s.Instances != 1 || s.Watches == 0 || s.Leases == 0 {
			t.Fatalf("in use: %+v", s)
		}
		for end := time.Now().Add(20 * time.Second); l.stats(t).Instances != 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("still watched: %+v", l.stats(t))
			}
		}
		if s := l.stats(t); s.Watches != 0 || s.Leases != 0 {
			t.Errorf("quiet: %+v", s)
		}
		put(t, time.Now().String(), l.host, "x")
		seen(t, "after the quiet", func() bool {
			a, err := os.Stat(filepath.Join(l.in, "x"))
			must(t, err)
			b, err := os.Stat(filepath.Join(l.host, "x"))
			must(t, err)
			return a.ModTime().Equal(b.ModTime())
		})
	}
}

// Without an instance, or with too few watches, changes are seen as before.
func TestWithoutWatches(t *testing.T) {
	for name, spec := range map[string]childSpec{"no instance": {NoInstance: true}, "few watches": {Watches: 3}, "few names": {Names: 3}} {
		t.Run(name, func(t *testing.T) {
			l := leaseTree(t, spec)
			for _, c := range hostChanges {
				if c.name == "rename over" || c.name == "create" || c.name == "file in a directory" {
					t.Run(c.name, func(t *testing.T) { c.run(t, l) })
				}
			}
			t.Logf("%+v", l.stats(t))
			if s := l.stats(t); spec.NoInstance && s.Instances != 0 || spec.Watches > 0 && s.Watches > spec.Watches || spec.Names > 0 && s.Leases > spec.Names {
				t.Errorf("%+v", s)
			}
		})
	}
}

// When the host makes more events than it keeps, everything is asked anew.
func TestOverflow(t *testing.T) {
	l := leaseTree(t, childSpec{})
	for _, name := range []string{"x", "y", "z"} {
		put(t, "old", l.host, name)
	}
	look := func() string { return describe(l.in, true) }
	look()
	l.settle(t)
	look()
	f, err := os.OpenFile(filepath.Join(l.host, "x"), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	g, err := os.OpenFile(filepath.Join(l.host, "y"), os.O_WRONLY, 0)
	must(t, err)
	defer g.Close()
	for end := time.Now().Add(20 * time.Second); l.stats(t).Overflows == 0; {
		if time.Now().After(end) {
			testenv.Skip(t, "this machine is too slow to make so many events between two ticks")
		}
		for range 20000 {
			f.WriteAt([]byte("n"), 0)
			g.WriteAt([]byte("n"), 0)
		}
	}
	must(t, os.Remove(filepath.Join(l.host, "z")))
	put(t, "new", l.host, "new")
	seen(t, "after an overflow", func() bool { return look() == describe(l.host, true) })
}

// Reading and writing clients, and a writing host, in each other's way: in the
// end both sides are the same, and nothing hangs.
func TestBothSidesWrite(t *testing.T) {
	l := leaseTree(t, childSpec{})
	script := `cd "$1" && i=0; while [ $i -lt 150 ]; do i=$((i+1)); d=d$((i%7)); mkdir -p $d 2>/dev/null
		echo $i > $d/f$((i%5)) ; mv $d/f$((i%5)) $d/g$((i%3)) ; ls -l $d >/dev/null; cat $d/* >/dev/null
		rm -f $d/f$((i%4)); [ $((i%11)) = 0 ] && mv $d e$i && rm -rf e$i; ln -f $d/g0 $d/h; ln -sfn $i $d/s; done; exit 0`
	var all []*osexec.Cmd
	for _, dir := range []string{l.in, l.host, l.in} {
		cmd := osexec.Command("sh", "-c", script+" 2>/dev/null", "sh", dir)
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		timer.Stop()
	}
	seen(t, "the end", func() bool { return describe(l.in, true) == describe(l.host, true) })
	t.Logf("%+v", l.stats(t))
}

// Two trees over the same directories are hosts to each other.
func TestTreesSeeEachOther(t *testing.T) {
	l := leaseTree(t, childSpec{UID: 1000, GID: 1000})
	other := filepath.Join(mount(t, childSpec{Regions: l.regions, View: mapping.OperatorView}, fs.MountOptions{}, nil).Dir, "mnt/user-data/workspace")
	must(t, os.Mkdir(filepath.Join(l.in, "d"), 0o755))
	both := []string{filepath.Join(l.in, "d"), filepath.Join(other, "d")}
	for i := range 6 {
		from, to := both[i%2], both[(i+1)%2]
		seen(t, "the directory", func() bool { return describe(to, true) == describe(from, true) })
		put(t, strings.Repeat("x", i), from, "x")
		put(t, "new", from, fmt.Sprint("new", i))
		must(t, os.Rename(filepath.Join(from, fmt.Sprint("new", i)), filepath.Join(from, "y")))
		os.Remove(filepath.Join(from, "z"))
		must(t, os.Symlink(fmt.Sprint(i), filepath.Join(from, "z")))
	}
}
