package fs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/treesuite"
)

// shown is the owner that the tests' views show.
var shown = treesuite.Account{UID: 1000, GID: 1000}

// ample is a quota that the suite does not reach.
var ample = provider.QuotaConfig{Bytes: 1 << 40, Files: 1 << 30}

// nobody serves without any privilege.
var nobody = account{65534, 65534}

// TestSuite runs the conformance suite over the tree in each form in which it
// can be mounted.
func TestSuite(t *testing.T) {
	few := uint64(1024)
	forms := []struct {
		name  string
		spec  childSpec
		as    *account
		quick bool
	}{
		{name: "owner", spec: childSpec{UID: 1000, GID: 1000, FileLimit: few}},
		{name: "owner without passthrough", spec: childSpec{UID: 1000, GID: 1000, Passthrough: fs.PassthroughOff}, quick: true},
		{name: "preserve", spec: childSpec{Ownership: fs.Preserve}, quick: true},
		{name: "preserve without passthrough", spec: childSpec{Ownership: fs.Preserve, Passthrough: fs.PassthroughOff}, quick: true},
		{name: "quota", spec: childSpec{UID: 1000, GID: 1000, Quota: ample}, quick: true},
		{name: "quota, unprivileged", spec: childSpec{UID: 1000, GID: 1000, Quota: ample}, as: &nobody, quick: true},
		{name: "unprivileged", spec: childSpec{UID: 1000, GID: 1000, FileLimit: few}, as: &nobody, quick: true},
		{name: "few descriptors", spec: childSpec{UID: 1000, GID: 1000, MaxDescriptors: 32}, quick: true},
		{name: "unprivileged with few descriptors", spec: childSpec{UID: 1000, GID: 1000, MaxDescriptors: 32}, as: &nobody, quick: true},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				testenv.Skip(t, "mounting in the host's namespace, as anybody, needs root")
			}
			var m *mounted
			treesuite.Run(t, func(t *testing.T) treesuite.Subject {
				w := newWorld(t)
				reachable(t, w.root)
				if f.as != nil {
					give(t, w.root, *f.as)
				}
				f.spec.Regions, f.spec.Home = w.regions, w.root
				f.spec.RunDir = filepath.Join(w.root, "run")
				m = mount(t, f.spec, fs.MountOptions{}, f.as)
				reachable(t, filepath.Dir(m.Dir))
				s := treesuite.Subject{
					Dir: filepath.Join(m.Dir, "mnt/user-data/workspace"), Host: w.host(t, "/mnt/user-data/workspace"),
					Other:    filepath.Join(m.Dir, "mnt/user-data/outputs"),
					ReadOnly: filepath.Join(m.Dir, "mnt/skills"), ReadOnlyHost: w.host(t, "/mnt/skills"),
					Synthetic: filepath.Join(m.Dir, "mnt"), Quick: f.quick, Quota: !f.spec.Quota.IsZero(),
				}
				if f.spec.Ownership == fs.Owner {
					s.Single = &shown
				}
				return s
			})
			if m == nil {
				return
			}
			s := m.stats(t)
			for end := time.Now().Add(5 * time.Second); s.Open != 0 && time.Now().Before(end); {
				s = m.stats(t) // the kernel reports the last closes later
			}
			t.Logf("%+v", s)
			if s.Open != 0 {
				t.Errorf("%d files are open after the last client closed its own", s.Open)
			}
			if s.Descriptors > s.Budget {
				t.Errorf("%d descriptors are held, the budget is %d", s.Descriptors, s.Budget)
			}
		})
	}
}

// reachable lets every user search a temporary directory.
func reachable(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func give(t *testing.T, dir string, to account) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, int(to.uid), int(to.gid))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
