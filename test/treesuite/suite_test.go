package treesuite_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/test/treesuite"
)

// TestPlainDirectory runs the suite over a plain directory, with a read-only
// bind mount where one can be had: that is what a tree is compared with.
func TestPlainDirectory(t *testing.T) {
	treesuite.Run(t, func(t *testing.T) treesuite.Subject {
		root := t.TempDir()
		for _, d := range []string{root, filepath.Dir(root)} { // other users must get there
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := treesuite.Subject{Dir: filepath.Join(root, "dir"), Other: filepath.Join(root, "other")}
		s.Host = s.Dir
		for _, d := range []string{s.Dir, s.Other} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if os.Geteuid() == 0 {
			s.ReadOnly, s.ReadOnlyHost = readOnlyBind(t, root)
		}
		return s
	})
}

func readOnlyBind(t *testing.T, root string) (bound, behind string) {
	t.Helper()
	behind, bound = filepath.Join(root, "behind"), filepath.Join(root, "bound")
	for _, d := range []string{behind, bound} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount(behind, bound, "", unix.MS_BIND, ""); err != nil {
		t.Logf("without a read-only mount: %v", err)
		return "", ""
	}
	t.Cleanup(func() { unix.Unmount(bound, unix.MNT_DETACH) })
	if err := unix.Mount("", bound, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return bound, behind
}
