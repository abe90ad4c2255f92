package posixsuite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/test/posixsuite"
)

// TestPlainDirectory compares a plain directory with another one: what the
// suite asks for must not depend on anything but the filesystem.
func TestPlainDirectory(t *testing.T) { posixsuite.Run(t, plain(t)) }

func TestPlainPrograms(t *testing.T) {
	posixsuite.RunPrograms(t, plain(t), posixsuite.Load{Commits: 3, Rows: 20, Packages: 10, Targets: 10})
}

func plain(t *testing.T) posixsuite.Subject {
	t.Helper()
	root := inMemory(t)
	s := posixsuite.Subject{Dir: filepath.Join(root, "dir"), Plain: filepath.Join(root, "plain"), Name: "plain", Share: 64}
	s.Host = s.Dir
	for _, d := range []string{s.Dir, s.Plain} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
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

func TestMain(m *testing.M) {
	if !posixsuite.Main() {
		os.Exit(m.Run())
	}
}
