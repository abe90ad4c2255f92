package posixsuite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// dirent is an entry as getdents64 gives it, with the position after it.
type dirent struct {
	name string
	next int64
}

// getdents reads some entries of an open directory; none at its end.
func getdents(fd int, buf []byte) ([]dirent, error) {
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		return nil, err
	}
	var out []dirent
	for b := buf[:n]; len(b) > 0; {
		size := binary.NativeEndian.Uint16(b[16:])
		name := b[19:size]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		out = append(out, dirent{string(name), int64(binary.NativeEndian.Uint64(b[8:]))})
		b = b[size:]
	}
	return out, nil
}

// testListing lists a large directory while names come and go in it, in the
// tree and on the host: no name that is there all the time may be missing or
// double. s.Entries of them stay.
func testListing(t *testing.T, s Subject) {
	entries := max(s.Entries, 3000)
	dir := filepath.Join(s.Dir, "large")
	host := filepath.Join(s.Host, "large")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer clear(host)
	for i := range entries {
		if err := touch(filepath.Join(host, fmt.Sprintf("stays-%06d", i))); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var churn sync.WaitGroup
	for i, at := range []string{dir, host} {
		churn.Add(1)
		go func() {
			defer churn.Done()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := filepath.Join(at, fmt.Sprintf("goes-%d-%d", i, n%50))
				if err := touch(name); err != nil && !errors.Is(err, unix.ENOENT) {
					t.Errorf("making %s: %v", filepath.Base(name), err)
					return
				}
				if n%3 == 0 {
					unix.Rename(name, name+"-moved")
					name += "-moved"
				}
				if err := unix.Unlink(name); err != nil {
					t.Errorf("removing %s: %v", filepath.Base(name), err)
					return
				}
			}
		}()
	}
	for _, size := range []int{1 << 10, 32 << 10, 1 << 20} {
		seen := map[string]int{}
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, size)
		for {
			some, err := getdents(fd, buf)
			if err != nil {
				t.Errorf("listing by %d bytes: %v", size, err)
			}
			if len(some) == 0 {
				break
			}
			for _, e := range some {
				seen[e.name]++
			}
		}
		unix.Close(fd)
		for i := range entries {
			name := fmt.Sprintf("stays-%06d", i)
			if n := seen[name]; n != 1 {
				t.Errorf("listing by %d bytes: %s is there %d times", size, name, n)
				break
			}
		}
	}
	close(stop)
	churn.Wait()
	testSeek(t, dir)
}

func touch(name string) error {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// testSeek goes back to positions in a listing that telldir would have given.
func testSeek(t *testing.T, dir string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	var all []dirent
	for {
		some, err := getdents(fd, buf)
		if err != nil || len(some) == 0 {
			break
		}
		all = append(all, some...)
	}
	for i := 0; i < len(all)-1; i += max(1, len(all)/40) {
		if _, err := unix.Seek(fd, all[i].next, unix.SEEK_SET); err != nil {
			t.Fatalf("seeking to the position after %s: %v", all[i].name, err)
		}
		some, err := getdents(fd, buf)
		if err != nil || len(some) == 0 || some[0].name != all[i+1].name {
			t.Fatalf("after %s comes %v, %v; it was %s", all[i].name, some[:min(1, len(some))], err, all[i+1].name)
		}
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		t.Fatal(err)
	}
	if err := touch(filepath.Join(dir, "made-after-opening")); err != nil {
		t.Fatal(err)
	}
	found := false
	for {
		some, err := getdents(fd, buf)
		if err != nil || len(some) == 0 {
			break
		}
		for _, e := range some {
			found = found || e.name == "made-after-opening"
		}
	}
	if !found {
		t.Error("a listing from the start again does not have what was made meanwhile")
	}
}
