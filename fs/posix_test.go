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
// short form runs one in so many of the cases.
func TestSoakPOSIX(t *testing.T) {
	forms := []struct {
		form        posixForm
		short, long int
	}{
		{posixForm{name: "owner", spec: childSpec{UID: 1000, GID: 1000}}, 24, 1},
		{posixForm{name: "owner without passthrough", spec: childSpec{UID: 1000, GID: 1000, Passthrough: fs.PassthroughOff}, through: true}, 32, 2},
		{posixForm{name: "preserve", spec: childSpec{Ownership: fs.Preserve}, through: true}, 80, 3},
		{posixForm{name: "preserve without passthrough", spec: childSpec{Ownership: fs.Preserve, Passthrough: fs.PassthroughOff}}, 160, 8},
		{posixForm{name: "unprivileged", spec: childSpec{UID: 1000, GID: 1000}, as: &nobody}, 32, 2},
		{posixForm{name: "quota", spec: childSpec{UID: 1000, GID: 1000, Quota: ample}}, 32, 2},
		{posixForm{name: "few descriptors", spec: childSpec{Ownership: fs.Preserve, MaxDescriptors: 32}}, 160, 16},
		{posixForm{name: "disk", spec: childSpec{Ownership: fs.Preserve}, disk: true}, 400, 4},
	}
	for _, f := range forms {
		t.Run(f.form.name, func(t *testing.T) {
			s := f.form.mount(t)
			s.Share, s.Entries, s.Operations = testenv.Soak(f.short, f.long), testenv.Soak(3_000, 100_000), testenv.Soak(2_000, 30_000)
			if testing.Short() {
				s.Share *= 4
			}
			if f.form.disk { // what only a disk's filesystem decides
				s.Only = regexp.MustCompile(`^(fallocate|lseek|copy_file_range|ftruncate|truncate|mmap)`)
			}
			if only := os.Getenv(posixsuite.EnvCases); only != "" {
				s.Only, s.Share = regexp.MustCompile(only), 1
			}
			if f.form.disk {
				posixsuite.RunCalls(t, s)
				return
			}
			posixsuite.Run(t, s)
		})
	}
}

// TestSoakPrograms lets real programs work in the tree.
func TestSoakPrograms(t *testing.T) {
	load := posixsuite.Load{
		Commits: testenv.Soak(15, 1000), Rows: testenv.Soak(30, 1000), Packages: testenv.Soak(20, 800), Targets: testenv.Soak(40, 800), Seconds: testenv.Soak(1, 15),
	}
	t.Run("passthrough", func(t *testing.T) {
		posixsuite.RunPrograms(t, posixForm{spec: childSpec{UID: 1000, GID: 1000}}.mount(t), load)
	})
	t.Run("messages", func(t *testing.T) {
		load.Commits, load.Packages, load.Seconds = load.Commits/2, load.Packages/2, testenv.Soak(0, load.Seconds)
		posixsuite.RunPrograms(t, posixForm{spec: childSpec{Ownership: fs.Preserve, Passthrough: fs.PassthroughOff}}.mount(t), load)
	})
}

// posixForm is a way in which the tree is mounted beside a plain directory of
// the same filesystem: of one in memory, unless disk is set.
type posixForm struct {
	name          string
	spec          childSpec
	as            *account
	through, disk bool
}

func (f posixForm) mount(t *testing.T) posixsuite.Subject {
	t.Helper()
	needFUSE(t)
	w, plain := besidePlain(t, f.disk)
	s := posixsuite.Subject{
		Name: f.name, Plain: plain, Host: w.host(t, "/mnt/user-data/workspace"), Through: f.through, Tree: true, Quota: !f.spec.Quota.IsZero(),
		Passthrough: f.spec.Passthrough != fs.PassthroughOff && f.as == nil && f.spec.Quota.IsZero(),
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
	return s
}

// besidePlain is a world, and a plain directory of the same filesystem that is
// mounted with the restrictions of a tree.
func besidePlain(t *testing.T, onDisk bool) (w world, plain string) {
	t.Helper()
	dir := t.TempDir()
	reachable(t, dir)
	if !onDisk {
		mountAt(t, "tmpfs", dir, "tmpfs", 0, "size=1g,mode=755")
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
