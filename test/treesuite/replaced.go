package treesuite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testReplaced gives names away behind the tree's back. A path must reach what
// is there now, at once, and what somebody holds must go on working.
func testReplaced(t *testing.T, s Subject) {
	if s.Host == "" {
		testenv.SkipArchitectural(t, "the host's side is not reachable")
	}
	tests := []struct {
		name string
		run  func(t *testing.T, dir, host string)
	}{
		{"directory listed", directoryListed},
		{"directory written to", directoryWrittenTo},
		{"working directory", workingDirectory},
		{"working directory removed", workingDirectoryRemoved},
		{"attributes of an open directory", openDirectory},
		{"reopened file", reopenedFile},
		{"reopened temporary file", reopenedTemporary},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, host := fresh(t, s)
			tt.run(t, dir, host)
		})
	}
	t.Run("moved into read-only", func(t *testing.T) { movedIntoReadOnly(t, s) })
}

// replaceDir puts a new directory in the place of host/d: the old one is
// renamed to host/was, or removed.
func replaceDir(t *testing.T, host string, remove bool) {
	t.Helper()
	d := filepath.Join(host, "d")
	if remove {
		must(t, os.RemoveAll(d))
	} else {
		must(t, os.Rename(d, filepath.Join(host, "was")))
	}
	must(t, os.Mkdir(d, 0o777))
	must(t, os.Chmod(d, 0o777))
	put(t, filepath.Join(d, "new"), "new")
}

// oldDir makes dir/d and lets the kernel know it well.
func oldDir(t *testing.T, dir string) string {
	t.Helper()
	d := filepath.Join(dir, "d")
	must(t, os.Mkdir(d, 0o755))
	put(t, filepath.Join(d, "old"), "old")
	put(t, filepath.Join(d, "both"), "old")
	if _, err := os.ReadDir(d); err != nil {
		t.Fatal(err)
	}
	read(t, filepath.Join(d, "both"))
	return d
}

// letGo returns when the server has seen that what was closed before is
// closed. The kernel does not wait for that, and while somebody has a file
// open, a chmod by its path cannot be told from one by a descriptor. The kernel
// asks in order, so what asks often enough comes after it.
func letGo(dir string) {
	for i := range 200 {
		os.Lstat(filepath.Join(dir, fmt.Sprint("no such name ", i)))
	}
}

// own gives a directory that the test made on the host to the owner of
// another, who serves the tree.
func own(t *testing.T, dir, as string) {
	t.Helper()
	st := lstat(t, as)
	must(t, os.Chown(dir, int(st.Uid), int(st.Gid)))
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func directoryListed(t *testing.T, dir, host string) {
	for _, remove := range []bool{false, true} {
		d := oldDir(t, dir)
		replaceDir(t, host, remove)
		if got := names(t, d); !slices.Equal(got, []string{"new"}) {
			t.Errorf("removed %v: the new directory lists %q", remove, got)
		}
		must(t, os.RemoveAll(d))
		must(t, os.RemoveAll(filepath.Join(host, "was")))
	}
	// A file below a directory that was replaced.
	d := oldDir(t, dir)
	replaceDir(t, host, false)
	put(t, filepath.Join(host, "d/both"), "new")
	if got := read(t, filepath.Join(d, "both")); got != "new" {
		t.Errorf("below a replaced directory: read %q, want \"new\"", got)
	}
}

// directoryWrittenTo makes and removes names in a directory right after it was
// replaced.
func directoryWrittenTo(t *testing.T, dir, host string) {
	for what, act := range map[string]func(d string) error{
		"create":     func(d string) error { return os.WriteFile(filepath.Join(d, "made"), nil, 0o644) },
		"mkdir":      func(d string) error { return os.Mkdir(filepath.Join(d, "made"), 0o755) },
		"mkfifo":     func(d string) error { return unix.Mkfifo(filepath.Join(d, "made"), 0o644) },
		"symlink":    func(d string) error { return os.Symlink("x", filepath.Join(d, "made")) },
		"link":       func(d string) error { return os.Link(filepath.Join(dir, "file"), filepath.Join(d, "made")) },
		"rename":     func(d string) error { return os.Rename(filepath.Join(dir, "file"), filepath.Join(d, "made")) },
		"rename out": func(d string) error { return os.Rename(filepath.Join(d, "both"), filepath.Join(dir, "moved")) },
		"unlink":     func(d string) error { return os.Remove(filepath.Join(d, "both")) },
		"chmod":      func(d string) error { return os.Chmod(d, 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			put(t, filepath.Join(dir, "file"), "x")
			d := oldDir(t, dir)
			replaceDir(t, host, false)
			put(t, filepath.Join(host, "d/both"), "new")
			own(t, filepath.Join(host, "d"), filepath.Join(host, "was"))
			letGo(dir)
			want(t, what, act(d))
			if got := names(t, filepath.Join(host, "was")); !slices.Equal(got, []string{"both", "old"}) {
				t.Errorf("the old directory has %q", got)
			}
			if st := lstat(t, filepath.Join(host, "was")); st.Mode&0o777 != 0o755 {
				t.Errorf("the old directory has mode %o", st.Mode)
			}
			for _, name := range []string{"was", "d", "moved", "file"} {
				must(t, os.RemoveAll(filepath.Join(host, name)))
			}
			soon(t, "the end of the test", func() bool { return len(names(t, dir)) == 0 })
		})
	}
}

// inside runs f on a thread of its own whose working directory is dir.
func inside(t *testing.T, dir string, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		defer close(done)      // also when f fails the test
		runtime.LockOSThread() // never unlocked: the thread ends with us
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Chdir(dir)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	must(t, <-done)
}

// workInside uses a working directory as a command would, and says what must
// be in it afterwards.
func workInside(t *testing.T) []string {
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"create", func() error { return os.WriteFile("made", []byte("text"), 0o644) }},
		{"read", func() error { _, err := os.ReadFile("made"); return err }},
		{"append", func() error {
			f, err := os.OpenFile("made", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
			if err == nil {
				err = f.Close()
			}
			return err
		}},
		{"mkdir", func() error { return os.Mkdir("sub", 0o755) }},
		{"create deeper", func() error { return os.WriteFile("sub/file", nil, 0o644) }},
		{"rename", func() error { return os.Rename("made", "sub/made") }},
		{"rename back", func() error { return os.Rename("sub/made", "made2") }},
		{"link", func() error { return os.Link("made2", "made3") }},
		{"symlink", func() error { return os.Symlink("made2", "link") }},
		{"chmod", func() error { return os.Chmod("made2", 0o600) }},
		{"chmod of itself", func() error { return os.Chmod(".", 0o711) }},
		{"truncate", func() error { return os.Truncate("made2", 2) }},
		{"bind", func() error { return bindAt("socket") }},
		{"second bind", func() error { return bindAt("socket2") }},
		{"unlink", func() error { return os.Remove("made3") }},
		{"rmdir", func() error { return os.RemoveAll("sub") }},
		{"list", func() error { _, err := os.ReadDir("."); return err }},
		{"stat", func() error { _, err := os.Stat("."); return err }},
	} {
		want(t, step.what+" in the working directory", step.do())
	}
	return []string{"link", "made2", "socket", "socket2"}
}

// bindAt makes a socket.
func bindAt(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: name})
}

func workingDirectory(t *testing.T, dir, host string) {
	for i, pause := range []bool{false, true} {
		d := filepath.Join(dir, fmt.Sprint("d", i))
		must(t, os.MkdirAll(filepath.Join(d, "e"), 0o755))
		inside(t, filepath.Join(d, "e"), func() {
			must(t, os.Rename(filepath.Join(host, fmt.Sprint("d", i), "e"), filepath.Join(host, fmt.Sprint("was", i))))
			if pause { // until the kernel believes no name any more
				soon(t, "a removal", func() bool { _, err := os.Stat(filepath.Join(d, "e")); return os.IsNotExist(err) })
			}
			made := workInside(t)
			if got := names(t, filepath.Join(host, fmt.Sprint("was", i))); !slices.Equal(got, made) {
				t.Errorf("the renamed directory has %q", got)
			}
		})
	}
}

func workingDirectoryRemoved(t *testing.T, dir, host string) {
	d := filepath.Join(dir, "d")
	must(t, os.Mkdir(d, 0o755))
	inside(t, d, func() {
		must(t, os.Remove(filepath.Join(host, "d")))
		want(t, "create", os.WriteFile("f", nil, 0o644), unix.ENOENT)
		want(t, "mkdir", os.Mkdir("f", 0o755), unix.ENOENT)
		fd, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		want(t, "open", err)
		if err == nil {
			_, err = unix.Getdents(fd, make([]byte, 4096))
			want(t, "list", err, unix.ENOENT)
			unix.Close(fd)
		}
	})
}

func openDirectory(t *testing.T, dir, host string) {
	d := filepath.Join(dir, "d")
	must(t, os.Mkdir(d, 0o755))
	f := open(t, d, os.O_RDONLY, 0)
	must(t, os.Rename(filepath.Join(host, "d"), filepath.Join(host, "was")))
	want(t, "fchmod", f.Chmod(0o700))
	want(t, "futimens", unix.Futimes(int(f.Fd()), []unix.Timeval{{Sec: 1}, {Sec: 2}}))
	if st := lstat(t, filepath.Join(host, "was")); st.Mode&0o777 != 0o700 || st.Mtim.Sec != 2 {
		t.Errorf("the directory has mode %o and time %d", st.Mode, st.Mtim.Sec)
	}
}

// reopenedFile opens by descriptor what the host has replaced or removed, in
// turn with opens by the path, which must not be taken for each other.
func reopenedFile(t *testing.T, dir, host string) {
	name := filepath.Join(dir, "f")
	put(t, name, "old")
	f := open(t, name, os.O_RDONLY, 0)
	link := fmt.Sprint("/proc/self/fd/", f.Fd())
	for _, text := range []string{"one", "two", "three"} {
		put(t, filepath.Join(host, "tmp"), text)
		must(t, os.Rename(filepath.Join(host, "tmp"), filepath.Join(host, "f")))
		if got := read(t, link); got != "old" {
			t.Errorf("by descriptor: read %q, want \"old\"", got)
		}
		if got := read(t, name); got != text {
			t.Errorf("by path: read %q, want %q", got, text)
		}
		if got := read(t, link); got != "old" {
			t.Errorf("by descriptor: read %q, want \"old\"", got)
		}
	}
	g := open(t, name, os.O_RDONLY, 0)
	must(t, os.Remove(filepath.Join(host, "f")))
	if got := read(t, fmt.Sprint("/proc/self/fd/", g.Fd())); got != "three" {
		t.Errorf("by descriptor: read %q, want \"three\"", got)
	}
	if _, err := os.ReadFile(name); !os.IsNotExist(err) {
		t.Errorf("by path: %v, want that it is gone", err)
	}
}

func reopenedTemporary(t *testing.T, dir, _ string) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if is(err, unix.EOPNOTSUPP) {
		testenv.SkipArchitectural(t, "no temporary files here")
	}
	must(t, err)
	f := os.NewFile(uintptr(fd), "temporary")
	defer f.Close()
	_, err = f.WriteString("text")
	must(t, err)
	if got := read(t, fmt.Sprint("/proc/self/fd/", fd)); got != "text" {
		t.Errorf("read %q", got)
	}
}

// movedIntoReadOnly moves somebody's working directory to where nothing may
// be written, and out of every region.
func movedIntoReadOnly(t *testing.T, s Subject) {
	if s.ReadOnlyHost == "" || s.Host == s.Dir {
		testenv.SkipArchitectural(t, "there is no read-only region behind the tree")
	}
	dir, host := fresh(t, s)
	must(t, os.Mkdir(filepath.Join(host, "probe"), 0o755))
	if err := os.Rename(filepath.Join(host, "probe"), filepath.Join(s.ReadOnlyHost, "probe")); err != nil {
		testenv.SkipArchitectural(t, fmt.Sprintf("cannot move between the directories: %v", err))
	}
	must(t, os.Remove(filepath.Join(s.ReadOnlyHost, "probe")))
	for i, place := range []struct {
		to   string
		errs []unix.Errno
	}{
		{s.ReadOnlyHost, []unix.Errno{unix.EROFS}},
		{t.TempDir(), []unix.Errno{unix.ESTALE, unix.EACCES}}, // the server may not be able to look there
	} {
		to := filepath.Join(place.to, "moved")
		name := fmt.Sprint("d", i)
		must(t, os.MkdirAll(filepath.Join(dir, name, "e"), 0o755))
		put(t, filepath.Join(dir, name, "e/f"), "text")
		inside(t, filepath.Join(dir, name, "e"), func() {
			must(t, os.Rename(filepath.Join(host, name), to))
			if got := read(t, "f"); got != "text" {
				t.Errorf("it reads %q", got)
			}
			want(t, "create", os.WriteFile("new", nil, 0o644), place.errs...)
			want(t, "open to write", os.WriteFile("f", nil, 0o644), place.errs...)
			want(t, "mkdir", os.Mkdir("new", 0o755), place.errs...)
			want(t, "unlink", os.Remove("f"), place.errs...)
			want(t, "rename", os.Rename("f", "g"), place.errs...)
			letGo(dir)
			want(t, "chmod", os.Chmod("f", 0o600), place.errs...)
		})
		if got := names(t, filepath.Join(to, "e")); !slices.Equal(got, []string{"f"}) {
			t.Errorf("the moved directory has %q", got)
		}
		must(t, os.RemoveAll(to))
	}
}
