package posixsuite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/test/posixsuite"
)

// TestPlainDirectory compares a plain directory with another one: what the
// suite asks for must not depend on anything but the filesystem.
func TestPlainDirectory(t *testing.T) {
	root := inMemory(t)
	s := posixsuite.Subject{Dir: filepath.Join(root, "dir"), Plain: filepath.Join(root, "plain"), Name: "plain", Share: 64}
	s.Host = s.Dir
	for _, d := range []string{s.Dir, s.Plain} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	posixsuite.Run(t, s)
}

// inMemory is a directory that every user can reach, in memory where the
// machine has such a place for everybody.
func inMemory(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/dev/shm", "posixsuite-")
	if err != nil {
		root = t.TempDir()
		err = os.Chmod(filepath.Dir(root), 0o755)
	}
	if err == nil {
		err = os.Chmod(root, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}
