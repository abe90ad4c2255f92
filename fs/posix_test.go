package fs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/posixsuite"
)

// TestSoakPOSIX compares the tree with a plain directory of the same
// filesystem, call by call, in each way in which the tree can be mounted. The
// short form runs one in so many of the cases. The filesystem is in memory, but
// for calls whose answer is the matter of a disk's.
func TestSoakPOSIX(t *testing.T) {
	needFUSE(t)
	forms := []struct {
		name        string
		spec        childSpec
		as          *account
		through     bool
		short, long int
		disk        string // the cases that run on disk
	}{
		{name: "owner", spec: childSpec{UID: 1000, GID: 1000}, short: 24, long: 1},
		{name: "owner without passthrough", spec: childSpec{UID: 1000, GID: 1000, Passthrough: fs.PassthroughOff}, through: true, short: 32, long: 2},
		{name: "preserve", spec: childSpec{Ownership: fs.Preserve}, through: true, short: 80, long: 1},
		{name: "preserve without passthrough", spec: childSpec{Ownership: fs.Preserve, Passthrough: fs.PassthroughOff}, short: 160, long: 4},
		{name: "unprivileged", spec: childSpec{UID: 1000, GID: 1000}, as: &nobody, short: 32, long: 2},
		{name: "quota", spec: childSpec{UID: 1000, GID: 1000, Quota: ample}, short: 32, long: 2},
		{name: "few descriptors", spec: childSpec{Ownership: fs.Preserve, MaxDescriptors: 32}, short: 160, long: 8},
		{name: "disk", spec: childSpec{Ownership: fs.Preserve}, disk: `^(fallocate|lseek|copy_file_range|ftruncate|truncate|mmap)`, short: 32, long: 2},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			w, plain := besidePlain(t, f.disk == "")
			s := posixsuite.Subject{
				Name: f.name, Plain: plain, Host: w.host(t, "/mnt/user-data/workspace"), Through: f.through, Share: testenv.Soak(f.short, f.long), Tree: true,
				Passthrough: f.spec.Passthrough != fs.PassthroughOff && f.as == nil && f.spec.Quota.IsZero(), Quota: !f.spec.Quota.IsZero(),
			}
			if testing.Short() {
				s.Share *= 4
			}
			s.Only = regexp.MustCompile(f.disk)
			if only := os.Getenv(posixsuite.EnvCases); only != "" {
				s.Only, s.Share = regexp.MustCompile(only), 1
			}
			if f.as != nil {
				give(t, w.root, *f.as)
				s.Keeper = posixsuite.Account{UID: int(f.as.uid), GID: int(f.as.gid)}
			}
			if f.spec.Ownership == fs.Owner {
				s.Single = &posixsuite.Account{UID: int(f.spec.UID), GID: int(f.spec.GID)}
				if err := os.Chown(plain, s.Single.UID, s.Single.GID); err != nil {
					t.Fatal(err)
				}
			}
			f.spec.Regions, f.spec.Home = w.regions, w.root
			f.spec.RunDir = filepath.Join(w.root, "run")
			m := mount(t, f.spec, fs.MountOptions{}, f.as)
			reachable(t, filepath.Dir(m.Dir))
			s.Dir = filepath.Join(m.Dir, "mnt/user-data/workspace")
			posixsuite.Run(t, s)
		})
	}
}

// besidePlain is a world, and a plain directory of the same filesystem that is
// mounted with the restrictions of a tree.
func besidePlain(t *testing.T, inMemory bool) (w world, plain string) {
	t.Helper()
	dir := t.TempDir()
	reachable(t, dir)
	if inMemory {
		mountAt(t, "tmpfs", dir, "tmpfs", 0, "size=512m,mode=755")
	}
	w.root, plain = filepath.Join(dir, "home"), filepath.Join(dir, "plain")
	for _, d := range []string{w.root, plain} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mountAt(t, plain, plain, "", unix.MS_BIND, "")
	if err := unix.Mount("", plain, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		t.Fatal(err)
	}
	return worldAt(t, w.root), plain
}

func mountAt(t *testing.T, source, dir, kind string, flags uintptr, options string) {
	t.Helper()
	if err := unix.Mount(source, dir, kind, flags, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
