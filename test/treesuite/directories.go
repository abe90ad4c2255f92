package treesuite

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// testDirectories lists directories whole, in parts, again, and while they
// change.
func testDirectories(t *testing.T, s Subject) {
	count := 3000
	if s.Quick {
		count = 600
	}
	dir, _ := fresh(t, s)
	for i := range count {
		put(t, filepath.Join(dir, fmt.Sprintf("file-%05d", i)), "")
	}
	t.Run("whole", func(t *testing.T) {
		entries, err := os.ReadDir(dir)
		must(t, err)
		if len(entries) != count {
			t.Errorf("%d entries, want %d", len(entries), count)
		}
		for _, e := range entries {
			if !e.Type().IsRegular() {
				t.Fatalf("%s is listed as %v", e.Name(), e.Type())
			}
		}
	})
	t.Run("again from the start", func(t *testing.T) {
		f := open(t, dir, os.O_RDONLY, 0)
		first, err := f.Readdirnames(10)
		must(t, err)
		_, err = f.Seek(0, io.SeekStart)
		must(t, err)
		put(t, filepath.Join(dir, "late"), "")
		all, err := f.Readdirnames(-1)
		must(t, err)
		if len(all) != count+1 || all[0] != first[0] && len(first) == 0 {
			t.Errorf("%d entries after rewinding, want %d", len(all), count+1)
		}
		must(t, os.Remove(filepath.Join(dir, "late")))
	})
	t.Run("positions", func(t *testing.T) { testPositions(t, dir) })
	t.Run("while it changes", func(t *testing.T) {
		f := open(t, dir, os.O_RDONLY, 0)
		seen := map[string]int{}
		for round := 0; ; round++ {
			names, err := f.Readdirnames(100)
			for _, n := range names {
				seen[n]++
			}
			if err == io.EOF {
				break
			}
			must(t, err)
			os.Remove(filepath.Join(dir, fmt.Sprintf("file-%05d", round)))
			put(t, filepath.Join(dir, fmt.Sprintf("new-%05d", round)), "")
		}
		for i := 100; i < count; i++ { // never touched
			if n := seen[fmt.Sprintf("file-%05d", i)]; n != 1 {
				t.Fatalf("file-%05d was listed %d times", i, n)
			}
		}
	})
	t.Run("remove all", func(t *testing.T) {
		must(t, os.RemoveAll(dir))
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// testPositions goes back to remembered positions, as telldir and seekdir.
func testPositions(t *testing.T, dir string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	buf := make([]byte, 2048)
	var positions []int64
	var firsts []string
	for {
		at, err := unix.Seek(fd, 0, io.SeekCurrent)
		must(t, err)
		n, err := unix.Getdents(fd, buf)
		must(t, err)
		if n == 0 {
			break
		}
		_, _, names := unix.ParseDirent(buf[:n], 1, nil)
		if len(names) == 0 {
			continue // "." and ".." only
		}
		positions, firsts = append(positions, at), append(firsts, names[0])
	}
	for _, i := range []int{len(positions) - 1, 1, len(positions) / 2} {
		_, err := unix.Seek(fd, positions[i], io.SeekStart)
		must(t, err)
		n, err := unix.Getdents(fd, buf)
		must(t, err)
		if _, _, names := unix.ParseDirent(buf[:n], 1, nil); len(names) == 0 || names[0] != firsts[i] {
			t.Errorf("at a remembered position %v is listed, want %s", names, firsts[i])
		}
	}
}

// testSpecial makes pipes and sockets, and tries devices.
func testSpecial(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, unix.Mkfifo(in("fifo"), 0o644))
	r, err := unix.Open(in("fifo"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(r)
	w, err := unix.Open(in("fifo"), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(w)
	_, err = unix.Write(w, []byte("through"))
	want(t, "write to a pipe", err)
	buf := make([]byte, 20)
	n, err := unix.Read(r, buf)
	if err != nil || string(buf[:n]) != "through" {
		t.Errorf("from the pipe: %q, %v", buf[:n], err)
	}
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(sock)
	if len(in("s")) < 100 {
		want(t, "bind a socket", unix.Bind(sock, &unix.SockaddrUnix{Name: in("s")}))
	} else {
		want(t, "mknod of a socket", unix.Mknod(in("s"), unix.S_IFSOCK|0o755, 0))
	}
	if st := lstat(t, in("s")); st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		t.Errorf("a socket shows mode %o", st.Mode)
	}
	if s.Single != nil {
		for _, kind := range []uint32{unix.S_IFCHR, unix.S_IFBLK} {
			want(t, "mknod of a device", unix.Mknod(in("dev"), kind|0o666, int(unix.Mkdev(1, 3))), unix.EPERM)
		}
		if host != "" {
			if _, err := os.Lstat(filepath.Join(host, "dev")); !os.IsNotExist(err) {
				t.Errorf("the host has a device: %v", err)
			}
		}
	}
}

// testLocks takes locks through two descriptors.
func testLocks(t *testing.T, s Subject) {
	dir, _ := fresh(t, s)
	name := filepath.Join(dir, "f")
	a := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
	b := open(t, name, os.O_RDWR, 0)
	want(t, "flock", unix.Flock(int(a.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	want(t, "flock of what is locked", unix.Flock(int(b.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	want(t, "unlock", unix.Flock(int(a.Fd()), unix.LOCK_UN))
	want(t, "flock of what was unlocked", unix.Flock(int(b.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 10}
	want(t, "open file description lock", unix.FcntlFlock(a.Fd(), unix.F_OFD_SETLK, &lock))
	lock = unix.Flock_t{Type: unix.F_WRLCK, Start: 5, Len: 10}
	want(t, "one that overlaps", unix.FcntlFlock(b.Fd(), unix.F_OFD_SETLK, &lock), unix.EAGAIN)
	lock = unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 10}
	want(t, "one beside it", unix.FcntlFlock(b.Fd(), unix.F_OFD_SETLK, &lock))
}
