package treesuite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testQuotaParallel has many writers at the limit, in both trees.
func testQuotaParallel(t *testing.T, s QuotaSubject) {
	dirs := []string{s.Dir, s.Other}
	if s.Elsewhere != "" {
		dirs = append(dirs, s.Elsewhere)
	}
	deadline := time.Now().Add(3 * time.Second)
	var wg sync.WaitGroup
	shared := make([]string, len(dirs)) // one file for all of a directory
	for i, dir := range dirs {
		shared[i] = filepath.Join(dir, "shared")
	}
	refused := make([]int, 8)
	for w := range refused {
		dir := dirs[w%len(dirs)]
		rnd := rand.New(rand.NewPCG(uint64(w), 1))
		wg.Go(func() {
			name := filepath.Join(dir, fmt.Sprint("w", w))
			for time.Now().Before(deadline) {
				refused[w] += disturb(t, rnd, name, shared[w%len(dirs)])
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(deadline) {
			c := shown(t, s.Dir)
			if c.bytes > s.Bytes || c.files > s.Files {
				t.Errorf("used are %d bytes and %d files, more than the limits", c.bytes, c.files)
			}
			var sum int64
			for _, host := range s.Hosts {
				entries, _ := os.ReadDir(host)
				for _, e := range entries {
					if info, err := e.Info(); err == nil {
						sum += blocks(info.Size())
					}
				}
			}
			// Files may grow and shrink between two looks; a wrong count shows
			// as far more than that.
			if sum > 2*s.Bytes {
				t.Errorf("the files have %d bytes, the limit is %d", sum, s.Bytes)
			}
		}
	})
	wg.Wait()
	total := 0
	for _, n := range refused {
		total += n
	}
	if total == 0 {
		t.Error("the limit was never reached")
	}
	c := walkQuota(t, s)
	if c.bytes > s.Bytes || c.files > s.Files {
		t.Errorf("in the end there are %d bytes and %d files", c.bytes, c.files)
	}
}

// disturb does one thing with a writer's own file or the shared one, and
// returns 1 if the quota refused it.
func disturb(t *testing.T, rnd *rand.Rand, own, shared string) int {
	name := own
	if rnd.IntN(3) == 0 {
		name = shared
	}
	var err error
	switch rnd.IntN(8) {
	case 0, 1:
		err = os.WriteFile(name, make([]byte, rnd.IntN(300<<10)), 0o644)
	case 2:
		err = os.Truncate(name, rnd.Int64N(300<<10))
	case 3:
		err = os.Remove(name)
	case 4:
		err = os.Rename(own, shared)
	case 5:
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644); err == nil {
			_, err = f.Write(make([]byte, rnd.IntN(100<<10)))
			f.Close()
		}
	case 6: // without a name for a while
		var f *os.File
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err == nil {
			os.Remove(name)
			_, err = f.WriteAt(make([]byte, rnd.IntN(100<<10)), rnd.Int64N(100<<10))
			f.Close()
		}
	case 7:
		err = os.Link(own, shared)
	}
	switch {
	case err == nil, is(err, unix.ENOENT), is(err, unix.EEXIST), is(err, unix.ESTALE):
	case is(err, unix.EDQUOT):
		return 1
	default:
		t.Errorf("%v", err)
	}
	return 0
}

// testQuotaRandom compares with a walk after every few operations.
func testQuotaRandom(t *testing.T, s QuotaSubject) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var held []*os.File
	name := func() string {
		dir := s.Dir
		switch {
		case rnd.IntN(3) == 0:
			dir = s.Other
		case s.Elsewhere != "" && rnd.IntN(2) == 0:
			dir = s.Elsewhere
		}
		return filepath.Join(dir, string(rune('a'+rnd.IntN(8))))
	}
	for i := range 3000 {
		a, b, size := name(), name(), rnd.Int64N(150<<10)
		switch rnd.IntN(14) {
		case 0, 1:
			os.WriteFile(a, make([]byte, size), 0o644)
		case 2:
			os.Truncate(a, size)
		case 3:
			os.Remove(a)
		case 4:
			os.Rename(a, b)
		case 5:
			os.Link(a, b)
		case 6:
			os.Mkdir(a, 0o755)
		case 7:
			os.Symlink(b, a)
		case 8:
			if f, err := os.OpenFile(a, os.O_RDWR, 0); err == nil {
				held = append(held, f)
			}
		case 9:
			unix.Mkfifo(a+"-fifo", 0o644)
		case 10:
			unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
		case 11:
			if len(held) > 0 {
				f := held[rnd.IntN(len(held))]
				f.WriteAt(make([]byte, rnd.IntN(64<<10)), size)
			}
		case 12:
			if len(held) > 0 {
				f := held[rnd.IntN(len(held))]
				unix.Fallocate(int(f.Fd()), []uint32{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_ZERO_RANGE}[rnd.IntN(3)], size, 10000)
			}
		case 13:
			if len(held) > 1 {
				from, to := held[0], held[1]
				off := size / 2
				unix.CopyFileRange(int(from.Fd()), nil, int(to.Fd()), &off, 50000, 0)
			}
		}
		if i%100 == 99 {
			for _, f := range held {
				f.Close()
			}
			held = nil
			c := walkQuota(t, s)
			wantCount(t, s, c)
			if t.Failed() {
				t.Fatalf("after %d operations", i+1)
			}
			if c.bytes > s.Bytes || c.files > s.Files {
				t.Fatalf("%d bytes and %d files after %d operations", c.bytes, c.files, i+1)
			}
		}
	}
}
