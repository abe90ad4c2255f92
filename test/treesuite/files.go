package treesuite

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testFiles writes and reads in the ways programs do.
func testFiles(t *testing.T, s Subject) {
	t.Run("random operations", func(t *testing.T) { testRandomOperations(t, s) })
	t.Run("overwrite", func(t *testing.T) {
		dir, host := fresh(t, s)
		name := filepath.Join(dir, "f")
		put(t, name, "long content")
		put(t, name, "short") // O_TRUNC
		if got := read(t, name); got != "short" {
			t.Errorf("read %q", got)
		}
		if host != "" {
			if got := read(t, filepath.Join(host, "f")); got != "short" {
				t.Errorf("on the host %q", got)
			}
		}
	})
	t.Run("create without rights to itself", func(t *testing.T) {
		dir, _ := fresh(t, s)
		f := open(t, filepath.Join(dir, "f"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0)
		_, err := f.WriteString("x")
		want(t, "write to a file of mode 0", err)
		want(t, "truncate it", f.Truncate(10))
	})
	t.Run("large", func(t *testing.T) {
		dir, host := fresh(t, s)
		data := make([]byte, 5<<20+123)
		for i := range data {
			data[i] = byte(i * 7 >> 3)
		}
		must(t, os.WriteFile(filepath.Join(dir, "f"), data, 0o644))
		got, err := os.ReadFile(filepath.Join(dir, "f"))
		must(t, err)
		if !bytes.Equal(got, data) {
			t.Error("what was read is not what was written")
		}
		if host != "" {
			got, err := os.ReadFile(filepath.Join(host, "f"))
			must(t, err)
			if !bytes.Equal(got, data) {
				t.Error("what is on the host is not what was written")
			}
		}
	})
	t.Run("copy_file_range", func(t *testing.T) {
		dir, _ := fresh(t, s)
		put(t, filepath.Join(dir, "a"), "0123456789")
		from := open(t, filepath.Join(dir, "a"), os.O_RDONLY, 0)
		to := open(t, filepath.Join(dir, "b"), os.O_CREATE|os.O_RDWR, 0o644)
		in, out := int64(2), int64(1)
		n, err := unix.CopyFileRange(int(from.Fd()), &in, int(to.Fd()), &out, 5, 0)
		want(t, "copy_file_range", err)
		if got := read(t, filepath.Join(dir, "b")); n != 5 || got != "\x0023456" {
			t.Errorf("copied %d, read %q", n, got)
		}
		_, err = io.Copy(to, from) // sendfile or the like
		want(t, "io.Copy", err)
	})
	t.Run("sync", func(t *testing.T) {
		dir, _ := fresh(t, s)
		f := open(t, filepath.Join(dir, "f"), os.O_CREATE|os.O_RDWR|os.O_SYNC, 0o644)
		_, err := f.WriteString("x")
		want(t, "O_SYNC write", err)
		want(t, "fsync", f.Sync())
		want(t, "fdatasync", unix.Fdatasync(int(f.Fd())))
		d := open(t, dir, os.O_RDONLY, 0)
		want(t, "fsync of a directory", d.Sync())
	})
}

// testRandomOperations compares a file with a model in memory.
func testRandomOperations(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	name := filepath.Join(dir, "f")
	f := open(t, name, os.O_CREATE|os.O_RDWR, 0o644)
	rnd := rand.New(rand.NewPCG(1, 2))
	const limit = 1 << 18
	var model []byte
	for i := range 1500 {
		at, n := rnd.IntN(limit), 1+rnd.IntN(1<<14)
		switch rnd.IntN(6) {
		case 0, 1:
			data := bytes.Repeat([]byte{byte(i)}, n)
			_, err := f.WriteAt(data, int64(at))
			must(t, err)
			model = grow(model, at+n)
			copy(model[at:], data)
		case 2, 3:
			got := make([]byte, n)
			n, err := f.ReadAt(got, int64(at))
			if err != nil && err != io.EOF {
				t.Fatal(err)
			}
			wanted := model[min(at, len(model)):min(at+len(got), len(model))]
			if !bytes.Equal(got[:n], wanted) {
				t.Fatalf("operation %d: reading %d bytes at %d of %d gave something else", i, len(got), at, len(model))
			}
		case 4:
			must(t, f.Truncate(int64(at)))
			model = grow(model, at)[:at]
		case 5:
			must(t, f.Close())
			f = open(t, name, os.O_RDWR, 0)
		}
		if st := lstat(t, name); st.Size != int64(len(model)) {
			t.Fatalf("operation %d: size %d, want %d", i, st.Size, len(model))
		}
	}
	for _, name := range []string{name, filepath.Join(host, "f")} {
		if host == "" && name != filepath.Join(dir, "f") {
			continue
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, model) {
			t.Errorf("the end differs from the model: %v", err)
		}
	}
}

// grow returns b with at least n bytes, new ones zero.
func grow(b []byte, n int) []byte {
	if n > len(b) {
		b = append(b, make([]byte, n-len(b))...)
	}
	return b
}
