package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/guest/file"
	"github.com/sandboxfs/sandboxfs/provider"
)

// The file calls of a sandbox see at once what the host has put in the place
// of a file or a directory that the kernel remembers.
func TestFileCallsAfterReplacement(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, UID: 1000, GID: 1000}, fs.MountOptions{}, nil)
	const workspace = "/mnt/user-data/workspace"
	dir, host := filepath.Join(m.Dir, workspace), w.host(t, workspace)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(host, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(filepath.Join(host, from), filepath.Join(host, to)); err != nil {
			t.Fatal(err)
		}
	}
	files := file.New()
	name := filepath.Join(dir, "d/f")
	read := func(want string) {
		t.Helper()
		if got, err := files.Read(t.Context(), name, provider.LineRange{}); err != nil || string(got) != want {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(host, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	put("d/f", "one")
	read("one")

	put("d/tmp", "two")
	rename("d/tmp", "d/f")
	read("two")

	put("d/tmp", "three")
	rename("d/tmp", "d/f")
	if _, err := files.Replace(t.Context(), name, provider.Replacement{Old: "three", New: "four"}); err != nil {
		t.Error(err)
	}
	read("four")

	for _, act := range []struct {
		what string
		do   func() error
	}{
		{"list", func() error {
			l, err := files.List(t.Context(), filepath.Join(dir, "d"), provider.ListOptions{})
			if err == nil && (len(l.Entries) != 1 || filepath.Base(l.Entries[0].Path) != "f") {
				t.Errorf("the new directory lists %v", l.Entries)
			}
			return err
		}},
		{"read", func() error { read("new"); return nil }},
		{"write", func() error { return files.Write(t.Context(), name, strings.NewReader("x"), 1, provider.Replace) }},
		{"append", func() error { return files.Write(t.Context(), name, strings.NewReader("x"), 1, provider.Append) }},
		{"write of a new file", func() error {
			return files.Write(t.Context(), filepath.Join(dir, "d/g"), strings.NewReader("x"), 1, provider.Replace)
		}},
		{"write of a deep file", func() error {
			return files.Write(t.Context(), filepath.Join(dir, "d/e/g"), strings.NewReader("x"), 1, provider.Replace)
		}},
	} {
		if _, err := os.ReadDir(filepath.Join(dir, "d")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(host, "was")); err != nil {
			t.Fatal(err)
		}
		rename("d", "was")
		if err := os.Mkdir(filepath.Join(host, "d"), 0o755); err != nil {
			t.Fatal(err)
		}
		put("d/f", "new")
		before, _ := os.ReadDir(filepath.Join(host, "was"))
		if err := act.do(); err != nil {
			t.Errorf("%s: %v", act.what, err)
		}
		if after, _ := os.ReadDir(filepath.Join(host, "was")); len(after) != len(before) {
			t.Errorf("%s: the old directory has %v now", act.what, after)
		}
	}
}
