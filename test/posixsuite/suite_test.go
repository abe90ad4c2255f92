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
	root := t.TempDir()
	for _, d := range []string{root, filepath.Dir(root)} { // other users must get there
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := posixsuite.Subject{Dir: filepath.Join(root, "dir"), Plain: filepath.Join(root, "plain"), Name: "plain", Share: 16}
	s.Host = s.Dir
	for _, d := range []string{s.Dir, s.Plain} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	posixsuite.Run(t, s)
}
