package treesuite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testAttributes covers modes, times and sizes.
func testAttributes(t *testing.T, s Subject) {
	t.Run("modes", func(t *testing.T) {
		dir, host := fresh(t, s)
		for _, mode := range []uint32{0, 0o400, 0o644, 0o755, 0o777} {
			name := filepath.Join(dir, "f")
			put(t, name, "")
			must(t, unix.Chmod(name, mode))
			if got := lstat(t, name).Mode & 0o7777; got != mode {
				t.Errorf("chmod %o shows %o", mode, got)
			}
			if host != "" {
				if got := lstat(t, filepath.Join(host, "f")).Mode & 0o7777; got != mode {
					t.Errorf("chmod %o is %o on the host", mode, got)
				}
			}
			must(t, os.Remove(name))
		}
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
		must(t, unix.Chmod(filepath.Join(dir, "d"), 0o1777))
		if got := lstat(t, filepath.Join(dir, "d")).Mode & 0o7777; got != 0o1777 {
			t.Errorf("a sticky directory shows %o", got)
		}
	})
	t.Run("umask", func(t *testing.T) {
		dir, _ := fresh(t, s)
		old := unix.Umask(0)
		defer unix.Umask(old)
		must(t, unix.Mkdir(filepath.Join(dir, "all"), 0o777))
		unix.Umask(0o027)
		must(t, unix.Mkdir(filepath.Join(dir, "some"), 0o777))
		fd, err := unix.Open(filepath.Join(dir, "file"), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
		must(t, err)
		unix.Close(fd)
		for name, mode := range map[string]uint32{"all": 0o777, "some": 0o750, "file": 0o640} {
			if got := lstat(t, filepath.Join(dir, name)).Mode & 0o777; got != mode {
				t.Errorf("%s has mode %o, want %o", name, got, mode)
			}
		}
	})
	t.Run("times", func(t *testing.T) {
		dir, _ := fresh(t, s)
		name := filepath.Join(dir, "f")
		put(t, name, "")
		set := func(a, m unix.Timespec) {
			t.Helper()
			must(t, unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{a, m}, unix.AT_SYMLINK_NOFOLLOW))
		}
		omit, now := unix.Timespec{Nsec: unix.UTIME_OMIT}, unix.Timespec{Nsec: unix.UTIME_NOW}
		set(unix.Timespec{Sec: 1000, Nsec: 1}, unix.Timespec{Sec: 2000, Nsec: 2})
		set(omit, unix.Timespec{Sec: 3000, Nsec: 3})
		if st := lstat(t, name); st.Atim.Sec != 1000 || st.Atim.Nsec != 1 || st.Mtim.Sec != 3000 || st.Mtim.Nsec != 3 {
			t.Errorf("times are %v and %v", st.Atim, st.Mtim)
		}
		set(now, omit)
		if st := lstat(t, name); time.Since(time.Unix(st.Atim.Sec, 0)) > time.Minute || st.Mtim.Sec != 3000 {
			t.Errorf("after UTIME_NOW times are %v and %v", st.Atim, st.Mtim)
		}
		must(t, os.Symlink("f", filepath.Join(dir, "l")))
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, "l"), []unix.Timespec{{Sec: 7}, {Sec: 8}}, unix.AT_SYMLINK_NOFOLLOW))
		if st := lstat(t, filepath.Join(dir, "l")); st.Mtim.Sec != 8 {
			t.Errorf("a link's time is %v", st.Mtim)
		}
		if st := lstat(t, name); st.Mtim.Sec != 3000 {
			t.Errorf("setting a link's time changed its target's to %v", st.Mtim)
		}
	})
	t.Run("size of an open file", func(t *testing.T) {
		dir, _ := fresh(t, s)
		name := filepath.Join(dir, "f")
		f := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
		for i := range 5 {
			_, err := f.WriteString("12345")
			must(t, err)
			if st := lstat(t, name); st.Size != int64(5*(i+1)) {
				t.Errorf("after write %d the size is %d", i, st.Size)
			}
		}
		must(t, f.Truncate(3))
		if got := read(t, name); got != "123" {
			t.Errorf("truncated to %q", got)
		}
	})
}

// testOwner covers owners, shown and changed.
func testOwner(t *testing.T, s Subject) {
	if os.Geteuid() != 0 {
		testenv.SkipArchitectural(t, "changing owners needs root")
	}
	dir, host := fresh(t, s)
	name := filepath.Join(dir, "f")
	put(t, name, "x")
	must(t, os.Symlink("f", filepath.Join(dir, "l")))
	if s.Single == nil {
		want(t, "chown", unix.Chown(name, 12, 34))
		if st := lstat(t, name); st.Uid != 12 || st.Gid != 34 {
			t.Errorf("chown shows %d:%d", st.Uid, st.Gid)
		}
		want(t, "lchown", unix.Lchown(filepath.Join(dir, "l"), 56, 78))
		if st := lstat(t, filepath.Join(dir, "l")); st.Uid != 56 || st.Gid != 78 {
			t.Errorf("lchown shows %d:%d", st.Uid, st.Gid)
		}
		testCreatedBy(t, dir)
		return
	}
	for _, entry := range []string{dir, name, filepath.Join(dir, "l")} {
		if st := lstat(t, entry); int(st.Uid) != s.Single.UID || int(st.Gid) != s.Single.GID {
			t.Errorf("%s shows %d:%d", filepath.Base(entry), st.Uid, st.Gid)
		}
	}
	before := unix.Stat_t{}
	if host != "" {
		before = lstat(t, filepath.Join(host, "f"))
	}
	want(t, "chown to the shown owner", unix.Chown(name, s.Single.UID, s.Single.GID))
	want(t, "chown of the user alone", unix.Chown(name, s.Single.UID, -1))
	want(t, "chown to nobody", unix.Chown(name, -1, -1))
	want(t, "chown to another user", unix.Chown(name, s.Single.UID+1, -1), unix.EPERM)
	want(t, "chown to another group", unix.Chown(name, -1, s.Single.GID+1), unix.EPERM)
	want(t, "lchown to another user", unix.Lchown(filepath.Join(dir, "l"), s.Single.UID+1, -1), unix.EPERM)
	if host != "" {
		if after := lstat(t, filepath.Join(host, "f")); after.Uid != before.Uid || after.Gid != before.Gid {
			t.Errorf("chown changed the host's owner to %d:%d", after.Uid, after.Gid)
		}
	}
	t.Run("as the shown owner", func(t *testing.T) {
		as(t, *s.Single, func() {
			want(t, "append", appendTo(name, "y"))
			want(t, "mkdir", unix.Mkdir(filepath.Join(dir, "own"), 0o700))
			want(t, "chmod", unix.Chmod(name, 0o600))
			want(t, "create in it", appendTo(filepath.Join(dir, "own/f"), "y"))
		})
	})
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	f.Close()
	return err
}

// testCreatedBy checks that what another user makes is his, and that the
// kernel keeps him from what is not.
func testCreatedBy(t *testing.T, dir string) {
	who := Account{1234, 2345}
	home := filepath.Join(dir, "home")
	must(t, os.Mkdir(home, 0o755))
	must(t, unix.Chown(home, who.UID, who.GID))
	shared := filepath.Join(dir, "shared")
	must(t, os.Mkdir(shared, 0o755))
	must(t, unix.Chown(shared, who.UID, 77))
	must(t, unix.Chmod(shared, 0o2775))
	as(t, who, func() {
		want(t, "create", appendTo(filepath.Join(home, "f"), "x"))
		want(t, "mkdir", unix.Mkdir(filepath.Join(home, "d"), 0o755))
		want(t, "symlink", unix.Symlink("x", filepath.Join(home, "l")))
		want(t, "mkfifo", unix.Mkfifo(filepath.Join(home, "p"), 0o644))
		want(t, "create in a setgid directory", appendTo(filepath.Join(shared, "f"), "x"))
		want(t, "mkdir in a setgid directory", unix.Mkdir(filepath.Join(shared, "d"), 0o755))
		want(t, "create where he may not", appendTo(filepath.Join(dir, "no"), "x"), unix.EACCES)
		want(t, "chown away", unix.Chown(filepath.Join(home, "f"), 1, -1), unix.EPERM)
	})
	for _, name := range []string{"f", "d", "l", "p"} {
		if st := lstat(t, filepath.Join(home, name)); int(st.Uid) != who.UID || int(st.Gid) != who.GID {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	if st := lstat(t, filepath.Join(shared, "f")); int(st.Uid) != who.UID || st.Gid != 77 {
		t.Errorf("a file in a setgid directory belongs to %d:%d", st.Uid, st.Gid)
	}
	if st := lstat(t, filepath.Join(shared, "d")); st.Gid != 77 || st.Mode&unix.S_ISGID == 0 {
		t.Errorf("a directory in a setgid directory has group %d and mode %o", st.Gid, st.Mode)
	}
}
