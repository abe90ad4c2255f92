package treesuite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func testQuotaWrites(t *testing.T, s QuotaSubject) {
	name := filepath.Join(s.Dir, "f")
	f := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
	n, err := f.Write(make([]byte, s.Bytes+1))
	want(t, "a write beyond the limit", err, unix.EDQUOT)
	if int64(n) != s.Bytes {
		t.Errorf("wrote %d bytes, the limit is %d", n, s.Bytes)
	}
	wantCount(t, s, count{s.Bytes, 1})
	_, err = f.WriteAt([]byte("x"), s.Bytes)
	want(t, "one byte more", err, unix.EDQUOT)
	_, err = f.WriteAt([]byte("over"), 100)
	want(t, "overwriting", err)
	// The last page has room, within the block that counts already.
	want(t, "truncate", f.Truncate(s.Bytes-100))
	_, err = f.WriteAt(make([]byte, 100), s.Bytes-100)
	want(t, "a write within the last block", err)
	n, err = unix.Pwrite(int(f.Fd()), make([]byte, block), s.Bytes-10)
	if n != 10 || err != nil {
		t.Errorf("a write across the limit: %d bytes, %v", n, err)
	}
	a := open(t, name, os.O_WRONLY|os.O_APPEND, 0)
	_, err = a.Write([]byte("x"))
	want(t, "appending", err, unix.EDQUOT)
	want(t, "truncating to half", f.Truncate(s.Bytes/2))
	n, err = a.Write(make([]byte, s.Bytes))
	if int64(n) != s.Bytes/2 || !is(err, unix.EDQUOT) {
		t.Errorf("appending to half: %d bytes, %v", n, err)
	}
	must(t, os.WriteFile(name, []byte("x"), 0o644)) // O_TRUNC
	wantCount(t, s, count{block, 1})
	_, err = f.WriteAt([]byte("x"), s.Bytes*1000)
	want(t, "a hole larger than the limit", err, unix.EDQUOT)
	wantCount(t, s, count{block, 1})
}

// testQuotaErrno meets the limits with every call that needs room.
func testQuotaErrno(t *testing.T, s QuotaSubject) {
	at := func(name string) string { return filepath.Join(s.Dir, name) }
	put(t, at("f"), "content")
	put(t, at("src"), string(make([]byte, 2*block)))
	must(t, os.Mkdir(at("d"), 0o755))
	f := open(t, at("f"), os.O_RDWR, 0)
	src := open(t, at("src"), os.O_RDONLY, 0)
	fill(t, s, 0)
	bytes := func(what string, err error) { t.Helper(); want(t, what+" without bytes", err, unix.EDQUOT) }
	bytes("mkdir", os.Mkdir(at("x"), 0o755))
	bytes("symlink", os.Symlink("to", at("x")))
	bytes("truncate", os.Truncate(at("f"), block+1))
	bytes("ftruncate", f.Truncate(block+1))
	bytes("fallocate", unix.Fallocate(int(f.Fd()), 0, 0, block+1))
	off := int64(block)
	_, err := unix.CopyFileRange(int(src.Fd()), nil, int(f.Fd()), &off, block, 0)
	bytes("copy_file_range", err)
	_, err = f.WriteAt([]byte("x"), block)
	bytes("pwrite", err)
	want(t, "mkdir of what exists", os.Mkdir(at("d"), 0o755), unix.EEXIST)
	want(t, "fallocate within the size", unix.Fallocate(int(f.Fd()), 0, 0, 5))
	want(t, "fallocate beyond it", unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, block), unix.EOPNOTSUPP)
	want(t, "punching a hole", unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, 0, block))
	want(t, "create", os.WriteFile(at("empty"), nil, 0o644))
	want(t, "link", os.Link(at("f"), at("link")))
	want(t, "rename", os.Rename(at("link"), at("d/link")))
	want(t, "rename across regions", os.Rename(at("d"), filepath.Join(s.Other, "d")))
	want(t, "mkfifo", unix.Mkfifo(at("fifo"), 0o644))

	for i := 0; ; i++ {
		if err := os.WriteFile(at("many"+string(rune('A'+i))), nil, 0o644); err != nil {
			want(t, "create without files", err, unix.EDQUOT)
			break
		}
	}
	must(t, os.Truncate(filepath.Join(s.Other, "filler"), 0))
	files := func(what string, err error) { t.Helper(); want(t, what+" without files", err, unix.EDQUOT) }
	files("mkdir", os.Mkdir(at("x"), 0o755))
	files("symlink", os.Symlink("to", at("x")))
	files("mkfifo", unix.Mkfifo(at("x"), 0o644))
	_, err = unix.Open(s.Dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)
	files("O_TMPFILE", err)
	want(t, "open of what exists", os.WriteFile(at("f"), []byte("more"), 0o644))
	_, err = os.OpenFile(at("f"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	want(t, "O_EXCL of what exists", err, unix.EEXIST)
	want(t, "link", os.Link(at("f"), at("link2")))
	want(t, "rename over", os.Rename(at("f"), at("empty")))
	want(t, "create again", os.WriteFile(at("f"), nil, 0o644))
	wantCount(t, s, walkQuota(t, s))
	if c := walkQuota(t, s); c.files != s.Files {
		t.Errorf("%d files, the limit is %d", c.files, s.Files)
	}
}

func testQuotaFrees(t *testing.T, s QuotaSubject) {
	at := func(name string) string { return filepath.Join(s.Dir, name) }
	full := bytes.Repeat([]byte("x"), int(s.Bytes))
	for _, free := range []struct {
		name string
		do   func() error
	}{
		{"unlink", func() error { return os.Remove(at("f")) }},
		{"truncate", func() error { return os.Truncate(at("f"), 0) }},
		{"O_TRUNC", func() error { return os.WriteFile(at("f"), nil, 0o644) }},
		{"rename over", func() error {
			put(t, at("g"), "")
			return os.Rename(at("g"), at("f"))
		}},
		{"rename over in another region", func() error {
			put(t, filepath.Join(s.Other, "g"), "")
			return os.Rename(filepath.Join(s.Other, "g"), at("f"))
		}},
		{"remove all", func() error {
			if err := os.Mkdir(at("d"), 0o755); !is(err, unix.EDQUOT) {
				t.Errorf("mkdir in a full thread: %v", err)
			}
			must(t, os.Truncate(at("f"), s.Bytes-2*block))
			must(t, os.MkdirAll(at("d/e"), 0o755))
			must(t, os.Rename(at("f"), at("d/e/f")))
			return os.RemoveAll(at("d"))
		}},
	} {
		want(t, "filling before "+free.name, os.WriteFile(at("f"), full, 0o644))
		if c := shown(t, s.Dir); c.bytes != s.Bytes {
			t.Errorf("before %s %d bytes are used", free.name, c.bytes)
		}
		want(t, free.name, free.do())
	}
	// A rename to another name of the same file does nothing.
	must(t, os.WriteFile(at("f"), full, 0o644))
	must(t, os.Link(at("f"), at("g")))
	want(t, "rename to its other name", os.Rename(at("f"), at("g")))
	wantCount(t, s, walkQuota(t, s))
	want(t, "exchange", unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at("g"), unix.RENAME_EXCHANGE))
	put(t, at("empty"), "")
	want(t, "exchange with another", unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at("empty"), unix.RENAME_EXCHANGE))
	wantCount(t, s, walkQuota(t, s))
}

// testQuotaMmap dirties every page of a sparse file when nothing is left.
func testQuotaMmap(t *testing.T, s QuotaSubject) {
	name := filepath.Join(s.Dir, "f")
	f := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
	must(t, f.Truncate(s.Bytes))
	m, err := unix.Mmap(int(f.Fd()), 0, int(s.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	_, err = open(t, filepath.Join(s.Dir, "other"), os.O_CREATE|os.O_RDWR, 0o644).Write([]byte("x"))
	want(t, "a write beside a sparse file", err, unix.EDQUOT)
	for i := range m {
		m[i] = byte(i>>12) | 1
	}
	want(t, "msync", unix.Msync(m, unix.MS_SYNC))
	must(t, unix.Munmap(m))
	must(t, f.Close())
	got, err := os.ReadFile(name)
	must(t, err)
	for i := range got {
		if got[i] != byte(i>>12)|1 {
			t.Fatalf("byte %d of the mapping is lost", i)
		}
	}
	wantCount(t, s, count{s.Bytes, 2})
}
