package fs_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
)

// The store behind a tree may fail. Here it is a filesystem of our own, served
// by this test binary run again, which shows a directory and fails when told.

const storeEnv = "SANDBOXFS_TEST_STORE"

// store is a filesystem that fails on demand.
type store struct {
	Dir, Behind string // where it is mounted, what it shows
	cmd         *osexec.Cmd
	in          *os.File
	out         *bufio.Reader
}

// faulty answers with an error number instead, where one is set: to everything
// or, where that is what the number means, to what would write.
type faulty struct {
	fuse.RawFileSystem
	number atomic.Int32
}

func (f *faulty) reads() fuse.Status {
	if e := unix.Errno(f.number.Load()); e != unix.ENOSPC && e != unix.EROFS {
		return fuse.Status(e)
	}
	return fuse.OK
}

func (f *faulty) writes() fuse.Status { return fuse.Status(f.number.Load()) }

func (f *faulty) Lookup(c <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if s := f.reads(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Lookup(c, in, name, out)
}

func (f *faulty) GetAttr(c <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	if s := f.reads(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.GetAttr(c, in, out)
}

func (f *faulty) SetAttr(c <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if s := f.writes(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.SetAttr(c, in, out)
}

func (f *faulty) Open(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if s := f.reads(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Open(c, in, out)
}

func (f *faulty) Read(c <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	if s := f.reads(); s != fuse.OK {
		return nil, s
	}
	return f.RawFileSystem.Read(c, in, buf)
}

func (f *faulty) Writev(c <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	if s := f.writes(); s != fuse.OK {
		return 0, s
	}
	return f.RawFileSystem.Writev(c, in, data)
}

func (f *faulty) Create(c <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	if s := f.writes(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Create(c, in, name, out)
}

func (f *faulty) Mkdir(c <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	if s := f.writes(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Mkdir(c, in, name, out)
}

func (f *faulty) Unlink(c <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	if s := f.writes(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Unlink(c, in, name)
}

func (f *faulty) Rename(c <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	if s := f.writes(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Rename(c, in, from, to)
}

func (f *faulty) Fsync(c <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if s := f.writes(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.Fsync(c, in)
}

func (f *faulty) OpenDir(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if s := f.reads(); s != fuse.OK {
		return s
	}
	return f.RawFileSystem.OpenDir(c, in, out)
}

// serveStore serves until it is killed. Each line on its standard input is the
// error number from then on.
func serveStore(dir string) error {
	root, err := gofs.NewLoopbackRoot(dir)
	if err != nil {
		return err
	}
	f := &faulty{RawFileSystem: gofs.NewNodeFS(root, &gofs.Options{})}
	// Or else the kernel would do, or put off, what is to fail.
	server, err := fuse.NewServer(f, "/dev/fd/3", &fuse.MountOptions{DisabledCapabilities: fuse.CAP_PASSTHROUGH | fuse.CAP_WRITEBACK_CACHE})
	if err != nil {
		return err
	}
	go server.Serve()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		f.number.Store(int32(n))
		fmt.Println("now", n)
	}
	return nil
}

func newStore(t *testing.T) *store {
	t.Helper()
	needFUSE(t)
	device, mnt, err := fs.MountDetached(fs.MountOptions{Source: "store"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &store{Dir: filepath.Join(dir, "mounted"), Behind: filepath.Join(dir, "behind")}
	for _, d := range []string{s.Dir, s.Behind} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = inW
	s.cmd = osexec.Command("/proc/self/exe")
	s.cmd.Env = append(os.Environ(), storeEnv+"="+s.Behind)
	s.cmd.ExtraFiles, s.cmd.Stdin, s.cmd.Stderr = []*os.File{device}, inR, os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(stdout)
	startOn(t, s.cmd)
	inR.Close()
	device.Close()
	timer := time.AfterFunc(lifetime, func() { s.cmd.Process.Kill() })
	t.Cleanup(func() {
		fs.Unmount(s.Dir)
		s.cmd.Process.Kill()
		s.cmd.Wait()
		inW.Close()
		timer.Stop()
	})
	s.expect(t, "ready")
	if err := fs.Attach(mnt, s.Dir); err != nil {
		t.Fatal(err)
	}
	mnt.Close()
	return s
}

func (s *store) expect(t *testing.T, want string) {
	t.Helper()
	if line, err := s.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("the store said %q, %v", line, err)
	}
}

// fail makes the store answer with a number, 0 to work again.
func (s *store) fail(t *testing.T, e unix.Errno) {
	t.Helper()
	fmt.Fprintln(s.in, int(e))
	s.expect(t, fmt.Sprint("now ", int(e)))
}

// overStore mounts a tree of which /w lies on the store and /o does not.
func overStore(t *testing.T, s *store, pass fs.Passthrough) (work, other string) {
	t.Helper()
	regions := []mapping.Region{{Virtual: "/w", Host: s.Dir}, {Virtual: "/o", Host: t.TempDir()}}
	m := mount(t, childSpec{Regions: regions, Passthrough: pass}, fs.MountOptions{}, nil)
	return filepath.Join(m.Dir, "w"), filepath.Join(m.Dir, "o")
}

// within fails the test if f takes too long, and does not wait for it then.
func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

func passForms(t *testing.T, test func(t *testing.T, pass fs.Passthrough)) {
	for name, pass := range map[string]fs.Passthrough{"passthrough": fs.PassthroughAuto, "without": fs.PassthroughOff} {
		t.Run(name, func(t *testing.T) { test(t, pass) })
	}
}

// The store's error reaches whoever asked, at once, and what was acknowledged
// before and after is there.
func TestFailingStore(t *testing.T) {
	passForms(t, func(t *testing.T, pass fs.Passthrough) {
		for _, e := range []unix.Errno{unix.EIO, unix.ENOSPC, unix.EROFS} {
			t.Run(unix.ErrnoName(e), func(t *testing.T) { failStore(t, pass, e) })
		}
	})
}

func failStore(t *testing.T, pass fs.Passthrough, e unix.Errno) {
	s := newStore(t)
	work, other := overStore(t, s, pass)
	path := func(name string) string { return filepath.Join(work, name) }
	f, err := os.Create(path("f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := ""
	put := func(text string) error {
		n, err := f.WriteString(text)
		want += text[:n]
		return err
	}
	if err := put("before "); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old", "unread"} {
		if err := os.WriteFile(filepath.Join(s.Behind, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unread, err := os.Open(path("unread"))
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	if err := os.Mkdir(filepath.Join(s.Behind, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path("old")); err != nil {
		t.Fatal(err)
	}

	s.fail(t, e)
	writes := map[string]func() error{
		"write":    func() error { return put("lost ") },
		"truncate": func() error { return f.Truncate(1) },
		"fsync":    func() error { return f.Sync() },
		"create":   func() error { return os.WriteFile(path("new"), nil, 0o644) },
		"mkdir":    func() error { return os.Mkdir(path("newdir"), 0o755) },
		"rename":   func() error { return os.Rename(path("old"), path("renamed")) },
		"unlink":   func() error { return unix.Unlink(path("old")) },
		"chmod":    func() error { return os.Chmod(path("old"), 0o600) },
	}
	reads := map[string]func() error{
		"read":   func() error { _, err := unread.Read(make([]byte, 10)); return err },
		"lookup": func() error { _, err := os.Lstat(path("dir/x")); return err },
		"list":   func() error { _, err := os.ReadDir(path("dir")); return err },
	}
	check := func(what string, act func() error, want unix.Errno) {
		t.Helper()
		if err := within(t, what, act); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	for what, act := range writes {
		check(what, act, e)
	}
	if e == unix.EIO {
		for what, act := range reads {
			check(what, act, e)
		}
	}
	if err := within(t, "the other region", func() error { return os.WriteFile(filepath.Join(other, "f"), nil, 0o644) }); err != nil {
		t.Errorf("the other region: %v", err)
	}

	s.fail(t, 0)
	if err := put("after"); err != nil {
		t.Errorf("a write when the store works again: %v", err)
	}
	for _, name := range []string{filepath.Join(s.Behind, "f"), path("f")} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%q, %v; acknowledged was %q", got, err, want)
		}
	}
	if got, err := os.ReadFile(path("old")); err != nil || string(got) != "old" {
		t.Errorf("a file that a failed operation was about: %q, %v", got, err)
	}
}

// The store's server is killed: callers hear of it and the tree goes on with
// the rest, and ends in order (see mount).
func TestKilledStore(t *testing.T) {
	passForms(t, func(t *testing.T, pass fs.Passthrough) {
		s := newStore(t)
		work, other := overStore(t, s, pass)
		f, err := os.Create(filepath.Join(work, "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		time.AfterFunc(30*time.Millisecond, func() { s.cmd.Process.Kill() })
		acknowledged := 0
		err = within(t, "a write", func() error {
			for {
				n, err := f.WriteString("line\n")
				acknowledged += n
				if err != nil {
					return err
				}
			}
		})
		if !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
			t.Errorf("a write: %v", err)
		}
		if st, err := os.Stat(filepath.Join(s.Behind, "f")); err != nil || st.Size() < int64(acknowledged) {
			t.Errorf("%v, %v; %d bytes were acknowledged", st, err, acknowledged)
		}
		for what, act := range map[string]func() error{
			"create": func() error { return os.WriteFile(filepath.Join(work, "g"), nil, 0o644) },
			"list":   func() error { _, err := os.ReadDir(work); return err },
			"lookup": func() error { _, err := os.Lstat(filepath.Join(work, "x")); return err },
			"sync":   func() error { return f.Sync() },
		} {
			if err := within(t, what, act); !errors.Is(err, unix.ENOTCONN) {
				t.Errorf("%s: %v, want ENOTCONN", what, err)
			}
		}
		if err := within(t, "the other region", func() error { return os.WriteFile(filepath.Join(other, "f"), nil, 0o644) }); err != nil {
			t.Errorf("the other region: %v", err)
		}
	})
}

// The store is unmounted lazily, or its directory removed, under a tree that
// holds it: what was acknowledged can be read, and nothing hangs.
func TestVanishedStore(t *testing.T) {
	passForms(t, func(t *testing.T, pass fs.Passthrough) {
		disk := t.TempDir()
		if err := unix.Mount("small", disk, "tmpfs", 0, "size=1m"); err != nil {
			testenv.Skip(t, fmt.Sprintf("cannot mount a small disk: %v", err))
		}
		t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
		removed := filepath.Join(t.TempDir(), "removed")
		if err := os.Mkdir(removed, 0o755); err != nil {
			t.Fatal(err)
		}
		m := mount(t, childSpec{
			Regions: []mapping.Region{{Virtual: "/w", Host: disk}, {Virtual: "/r", Host: removed}}, Passthrough: pass,
		}, fs.MountOptions{}, nil)
		files := map[string]*os.File{}
		for _, region := range []string{"w", "r"} {
			f, err := os.Create(filepath.Join(m.Dir, region, "f"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("before "); err != nil {
				t.Fatal(err)
			}
			files[region] = f
		}
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(removed); err != nil {
			t.Fatal(err)
		}
		for region, f := range files {
			dir := filepath.Join(m.Dir, region)
			if err := within(t, "a write", func() error { _, err := f.WriteString("after"); return err }); err != nil {
				t.Errorf("%s: a write to an open file: %v", region, err)
			}
			got := make([]byte, 20)
			if n, err := f.ReadAt(got, 0); string(got[:n]) != "before after" {
				t.Errorf("%s: read %q, %v", region, got[:n], err)
			}
			err := within(t, "a creation", func() error { return os.WriteFile(filepath.Join(dir, "g"), []byte("g"), 0o644) })
			switch {
			case region == "r" && !errors.Is(err, unix.ENOENT):
				t.Errorf("a creation in a removed directory: %v, want ENOENT", err)
			case region == "w" && err != nil:
				t.Errorf("a creation in a filesystem that the tree holds: %v", err)
			}
			within(t, "a listing", func() error { _, err := os.ReadDir(dir); return err })
		}
	})
}
