package treesuite

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testHoles covers fallocate, sparse files and statfs.
func testHoles(t *testing.T, s Subject) {
	dir, _ := fresh(t, s)
	name := filepath.Join(dir, "f")
	f := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
	fd := int(f.Fd())
	_, err := f.WriteAt([]byte("data"), 1<<20)
	must(t, err)
	at, err := unix.Seek(fd, 0, unix.SEEK_DATA)
	want(t, "SEEK_DATA", err)
	if at != 1<<20 {
		t.Logf("the first data is at %d: this filesystem does not tell holes", at)
	}
	at, err = unix.Seek(fd, 1<<20, unix.SEEK_HOLE)
	want(t, "SEEK_HOLE", err)
	if at < 1<<20+4 {
		t.Errorf("the hole after the data begins at %d", at)
	}

	want(t, "fallocate", unix.Fallocate(fd, 0, 0, 2<<20))
	if st := lstat(t, name); st.Size != 2<<20 {
		t.Errorf("after fallocate the size is %d", st.Size)
	}
	err = unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 4<<20)
	if s.Quota {
		want(t, "fallocate keeping the size, under a quota", err, unix.EOPNOTSUPP)
	} else {
		want(t, "fallocate keeping the size", err)
	}
	if st := lstat(t, name); st.Size != 2<<20 {
		t.Errorf("the kept size is %d", st.Size)
	}
	err = unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 1<<20, 4096)
	want(t, "punching a hole", err)
	b := make([]byte, 4)
	if _, err := f.ReadAt(b, 1<<20); err != nil || string(b) != "\x00\x00\x00\x00" {
		t.Errorf("the punched hole reads %q, %v", b, err)
	}
	want(t, "fallocate of nothing", unix.Fallocate(fd, 0, 0, 0), unix.EINVAL)

	var fsStat, hostStat unix.Statfs_t
	must(t, unix.Statfs(name, &fsStat))
	if fsStat.Blocks == 0 || fsStat.Namelen != 255 {
		t.Errorf("statfs: %d blocks, names of %d bytes", fsStat.Blocks, fsStat.Namelen)
	}
	if s.Host != "" && !s.Quota {
		must(t, unix.Statfs(s.Host, &hostStat))
		if fsStat.Blocks != hostStat.Blocks || fsStat.Files != hostStat.Files {
			t.Errorf("statfs gives %d blocks, the host %d", fsStat.Blocks, hostStat.Blocks)
		}
	}
}
