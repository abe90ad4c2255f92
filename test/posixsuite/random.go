package posixsuite

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// exercise is what one process does in a test of random operations: each is
// done with the file under test and with a plain file, its model, while a lock
// keeps the other processes away, and must give the same.
type exercise struct {
	File, Model, Lock string
	// Host is the file behind File, which some operations go to; empty: none.
	Host       string
	Seed       uint64
	Operations int
	// KeepSize says that room beyond the size can be had.
	KeepSize bool
}

// limit bounds the size of the files.
const limit = 256 << 10

// copies are the two files as one process has them open and mapped.
type copies struct {
	names, spare [2]string
	fds          [2]int
	appends      [2]int
	maps         [2][]byte
	host         string
	rnd          *rand.Rand
	log          []string
}

// run makes the operations. An error tells the seed and the last of them.
func (e *exercise) run() error {
	c := &copies{names: [2]string{e.File, e.Model}, host: e.Host, rnd: rand.New(rand.NewPCG(e.Seed, 17))}
	c.spare = [2]string{e.File + ".other", e.Model + ".other"}
	lock, err := unix.Open(e.Lock, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Flock(lock, unix.LOCK_EX); err != nil { // others rename the files
		return err
	}
	if err := c.open(); err != nil {
		return err
	}
	defer c.close()
	unix.Flock(lock, unix.LOCK_UN)
	for i := range e.Operations {
		if err := unix.Flock(lock, unix.LOCK_EX); err != nil {
			return err
		}
		err := c.step(e)
		if err == nil && i%16 == 0 {
			err = c.compare()
		}
		if err != nil { // still locked, so that nobody else fails by it
			return fmt.Errorf("seed %d, operation %d: %w; the last operations of this process:\n%s", e.Seed, i, err, strings.Join(c.log, "\n"))
		}
		unix.Flock(lock, unix.LOCK_UN)
	}
	return nil
}

func (c *copies) open() error {
	for i, name := range c.names {
		var err error
		if c.fds[i], err = unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("open: %w", err)
		}
		if c.appends[i], err = unix.Open(name, unix.O_RDWR|unix.O_APPEND|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("open to append: %w", err)
		}
		if c.maps[i], err = unix.Mmap(c.fds[i], 0, limit, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
			return fmt.Errorf("mmap: %w", err)
		}
	}
	return nil
}

func (c *copies) close() {
	for i := range c.names {
		unix.Munmap(c.maps[i])
		unix.Close(c.fds[i])
		unix.Close(c.appends[i])
	}
}

// both makes an operation on the two files and compares what it returns.
func (c *copies) both(what string, do func(i int) (string, error)) error {
	c.log = append(c.log, what)
	if len(c.log) > 12 {
		c.log = c.log[1:]
	}
	var got [2]string
	for i := range got {
		got[i] = outcome(do(i))
	}
	if got[0] != got[1] {
		return fmt.Errorf("%s: in the tree %.200s, in a plain directory %.200s", what, got[0], got[1])
	}
	return nil
}

// step makes one random operation.
func (c *copies) step(e *exercise) error {
	size, err := c.size()
	if err != nil {
		return err
	}
	at, n := c.rnd.IntN(limit), 1+c.rnd.IntN(12<<10)
	n = min(n, limit-at)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte('a' + (at+i+n)%26)
	}
	within := func(length int) (int, int) { // a range below the size
		from := c.rnd.IntN(size)
		return from, min(length, size-from)
	}
	switch op := c.rnd.IntN(19); {
	case op <= 2:
		return c.both(fmt.Sprintf("write %d at %d", n, at), func(i int) (string, error) {
			n, err := unix.Pwrite(c.fds[i], data, int64(at))
			return fmt.Sprint(n), err
		})
	case op <= 5:
		return c.both(fmt.Sprintf("read %d at %d", n, at), func(i int) (string, error) {
			buf := make([]byte, n)
			n, err := unix.Pread(c.fds[i], buf, int64(at))
			return digest(buf[:max(n, 0)]), err
		})
	case op == 6 && size < limit-n:
		return c.both(fmt.Sprintf("append %d", n), func(i int) (string, error) {
			n, err := unix.Write(c.appends[i], data)
			return fmt.Sprint(n), err
		})
	case op <= 8 && size > 0:
		from, n := within(n)
		return c.both(fmt.Sprintf("store %d at %d", n, from), func(i int) (string, error) {
			copy(c.maps[i][from:from+n], data)
			return "", nil
		})
	case op <= 10 && size > 0:
		from, n := within(n)
		return c.both(fmt.Sprintf("load %d at %d", n, from), func(i int) (string, error) {
			return digest(c.maps[i][from : from+n]), nil
		})
	case op == 11:
		return c.both(fmt.Sprintf("truncate to %d", at), func(i int) (string, error) { return "", unix.Ftruncate(c.fds[i], int64(at)) })
	case op == 12:
		return c.both(fmt.Sprintf("truncate by name to %d", at), func(i int) (string, error) { return "", unix.Truncate(c.names[i], int64(at)) })
	case op == 13:
		mode := uint32(0)
		if e.KeepSize && n%2 == 0 {
			mode = unix.FALLOC_FL_KEEP_SIZE
		}
		return c.both(fmt.Sprintf("fallocate %d: %d at %d", mode, n, at), func(i int) (string, error) {
			return "", unix.Fallocate(c.fds[i], mode, int64(at), int64(n))
		})
	case op == 14:
		return c.both(fmt.Sprintf("punch %d at %d", n, at), func(i int) (string, error) {
			return "", unix.Fallocate(c.fds[i], unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(at), int64(n))
		})
	case op == 15 && size > 0:
		from, n := within(n)
		to := c.rnd.IntN(limit - n)
		return c.both(fmt.Sprintf("copy %d from %d to %d", n, from, to), func(i int) (string, error) {
			return "", copyRange(c.fds[i], from, to, n)
		})
	case op == 16:
		return c.both("rename away and back, by way of a hard link", func(i int) (string, error) {
			return "", errors.Join(unix.Rename(c.names[i], c.spare[i]), unix.Link(c.spare[i], c.names[i]), unix.Unlink(c.spare[i]))
		})
	case op == 17:
		return c.both("sync and open again", func(i int) (string, error) {
			if i == 1 {
				return "", nil // both have been, with the first
			}
			err := errors.Join(unix.Msync(c.maps[0], unix.MS_SYNC), unix.Fsync(c.fds[0]))
			c.close()
			return "", errors.Join(err, c.open())
		})
	case op == 18 && c.host != "" && size > 0: // a new size would be seen later
		from, n := within(n)
		if n%2 == 0 { // what is stored shows there at once, as with a plain file
			return c.both(fmt.Sprintf("read on the host %d at %d", n, from), func(i int) (string, error) {
				f, err := os.Open([]string{c.host, c.names[1]}[i])
				if err != nil {
					return "", err
				}
				defer f.Close()
				buf := make([]byte, n)
				_, err = f.ReadAt(buf, int64(from))
				return digest(buf), err
			})
		}
		return c.both(fmt.Sprintf("write on the host %d at %d", n, from), func(i int) (string, error) {
			f, err := os.OpenFile([]string{c.host, c.names[1]}[i], os.O_RDWR, 0)
			if err != nil {
				return "", err
			}
			defer f.Close()
			_, err = f.WriteAt(data[:n], int64(from))
			return "", err
		})
	}
	return c.both("stat", func(i int) (string, error) {
		var st unix.Stat_t
		err := unix.Stat(c.names[i], &st)
		return fmt.Sprintf("size %d nlink %d", st.Size, st.Nlink), err
	})
}

// copyRange copies within one file; what overlaps cannot be.
func copyRange(fd, from, to, n int) error {
	src, dst := int64(from), int64(to)
	for n > 0 {
		done, err := unix.CopyFileRange(fd, &src, fd, &dst, n, 0)
		if err != nil || done == 0 {
			return err
		}
		n -= done
	}
	return nil
}

func digest(b []byte) string {
	h := fnv.New64()
	h.Write(b)
	return fmt.Sprintf("%d bytes %x", len(b), h.Sum64())
}

// size is that of the model; the file's must be the same.
func (c *copies) size() (int, error) {
	var st [2]unix.Stat_t
	for i := range st {
		if err := unix.Fstat(c.fds[i], &st[i]); err != nil {
			return 0, err
		}
	}
	if st[0].Size != st[1].Size {
		return 0, fmt.Errorf("the size is %d in the tree, %d in a plain directory", st[0].Size, st[1].Size)
	}
	return int(st[1].Size), nil
}

// compare reads both files as a whole, by name and in the mappings.
func (c *copies) compare() error {
	var all [2][]byte
	for i, name := range c.names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		all[i], err = io.ReadAll(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	if at := firstDifference(all[0], all[1]); at >= 0 {
		return fmt.Errorf("the contents differ from byte %d on (sizes %d and %d)", at, len(all[0]), len(all[1]))
	}
	if at := firstDifference(c.maps[0][:len(all[1])], all[1]); at >= 0 {
		return fmt.Errorf("the mapping differs from byte %d on", at)
	}
	return nil
}

func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// testRandom lets one process, and then three at once, make random operations
// on one file.
func testRandom(t *testing.T, s Subject) {
	h := fnv.New32()
	h.Write([]byte(s.Name))
	seed := uint64(h.Sum32())
	if given := os.Getenv(EnvSeed); given != "" {
		fmt.Sscan(given, &seed)
	}
	for _, processes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			name := fmt.Sprintf("random-%d", processes)
			e := exercise{File: filepath.Join(s.Dir, name), Model: filepath.Join(s.Plain, name), Lock: filepath.Join(s.Plain, name+".lock"), KeepSize: !s.Quota}
			if s.Passthrough {
				e.Host = filepath.Join(s.Host, name)
			}
			e.Operations = max(s.Operations, 1000) / processes
			for _, f := range []string{e.File, e.Model, e.Lock} {
				if err := os.WriteFile(f, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var all []*process
			for i := range processes {
				mine := e
				mine.Seed = seed + uint64(i)
				all = append(all, start(t, role{&mine}))
			}
			var failed error
			for _, p := range all {
				if err := p.wait(); err != nil && failed == nil {
					failed = err
					for _, q := range all { // they wait for a lock that is never given back
						q.cmd.Process.Kill()
					}
				}
			}
			if failed != nil {
				t.Errorf("%v\nagain with %s=%d", failed, EnvSeed, seed)
			}
			if s.Host == "" || s.Host == s.Dir {
				return
			}
			host, err := os.ReadFile(filepath.Join(s.Host, name))
			model, _ := os.ReadFile(e.Model)
			if at := firstDifference(host, model); err != nil || at >= 0 {
				t.Errorf("in the end the host's file differs from byte %d on, %v", at, err)
			}
		})
	}
}

// EnvSeed names an environment variable with the seed of the random
// operations; a failure prints it.
const EnvSeed = "SANDBOXFS_POSIX_SEED"
