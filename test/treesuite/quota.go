package treesuite

import (
	iofs "io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// QuotaSubject is a thread with a quota and the facts about it.
type QuotaSubject struct {
	// Dir and Other are writable directories of the thread, empty at first,
	// that count together and lie on one filesystem.
	Dir, Other string
	// Elsewhere is Dir seen through another tree over the same thread, served
	// by another process; empty: there is none.
	Elsewhere string
	// Hosts are the thread's directories on the host, for counting.
	Hosts []string
	// Bytes and Files are the limits: [QuotaBytes] and [QuotaFiles].
	Bytes, Files int64
}

// The limits that a quota's subject has.
const (
	QuotaBytes = 1 << 20
	QuotaFiles = 40
)

// block is what sizes are rounded up to.
const block = 4096

// RunQuota runs the tests of a quota, each on a subject of its own. A file
// counts its size rounded up to 4096 bytes, a directory 4096, each inode one
// file, also while it has no name and is open.
func RunQuota(t *testing.T, make func(t *testing.T) QuotaSubject) {
	groups := []struct {
		name string
		run  func(*testing.T, QuotaSubject)
	}{
		{"writes", testQuotaWrites}, {"what needs room", testQuotaErrno}, {"what frees", testQuotaFrees},
		{"mmap", testQuotaMmap}, {"unlinked", testQuotaUnlinked}, {"hard links", testQuotaLinks},
		{"two trees", testQuotaTwoTrees}, {"parallel writers", testQuotaParallel}, {"random operations", testQuotaRandom},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			s := make(t)
			g.run(t, s)
			wantCount(t, s, walkQuota(t, s))
		})
	}
}

// count is a number of bytes and of files.
type count struct{ bytes, files int64 }

// shown is what statfs of a directory says is used.
func shown(t *testing.T, dir string) count {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Statfs(dir, &st))
	return count{int64(st.Blocks-st.Bavail) * int64(st.Bsize), int64(st.Files - st.Ffree)}
}

// wantCount waits a moment, because the kernel reports closes late.
func wantCount(t *testing.T, s QuotaSubject, c count) {
	t.Helper()
	for _, dir := range []string{s.Dir, s.Other, s.Elsewhere} {
		if dir == "" {
			continue
		}
		got := shown(t, dir)
		for end := time.Now().Add(3 * time.Second); got != c && time.Now().Before(end); time.Sleep(time.Millisecond) {
			got = shown(t, dir)
		}
		if got != c {
			t.Errorf("used are %d bytes and %d files, want %d and %d", got.bytes, got.files, c.bytes, c.files)
		}
	}
}

// walkQuota counts what lies in the host's directories.
func walkQuota(t *testing.T, s QuotaSubject) count {
	t.Helper()
	var c count
	seen := map[[2]uint64]bool{}
	for _, root := range s.Hosts {
		err := filepath.WalkDir(root, func(path string, _ iofs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return err
			}
			id := [2]uint64{st.Dev, st.Ino}
			if seen[id] {
				return nil
			}
			seen[id] = true
			c.files++
			switch st.Mode & unix.S_IFMT {
			case unix.S_IFDIR:
				c.bytes += block
			case unix.S_IFREG, unix.S_IFLNK:
				c.bytes += blocks(st.Size)
			}
			return nil
		})
		must(t, err)
	}
	return c
}

func blocks(size int64) int64 { return (size + block - 1) / block * block }

// fill takes all the bytes that are left but as many as given.
func fill(t *testing.T, s QuotaSubject, but int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(s.Other, "filler"))
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(s.Bytes-shown(t, s.Dir).bytes-but))
}
