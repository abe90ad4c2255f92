package fs_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
)

func TestMountedTree(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	work := filepath.Join(m.Dir, "mnt/user-data/workspace")
	if err := os.WriteFile(filepath.Join(work, "a"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(w.host(t, "/mnt/user-data/workspace"), "a"))
	if err != nil || !bytes.Equal(got, []byte("hello")) {
		t.Fatalf("on the host: %q, %v", got, err)
	}
	if err := os.Rename(filepath.Join(work, "a"), filepath.Join(m.Dir, "mnt/user-data/outputs/b")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.Dir, "mnt/skills/x"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Fatalf("write in a read-only region: %v", err)
	}
	if err := os.Mkdir(filepath.Join(m.Dir, "mnt/x"), 0o755); !errors.Is(err, unix.EROFS) {
		t.Fatalf("mkdir in a synthetic directory: %v", err)
	}
	s := m.stats(t)
	t.Logf("%+v", s)
	if s.PassthroughOpens == 0 {
		t.Log("no passthrough here")
	}
}
