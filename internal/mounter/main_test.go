package mounter_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// deadline bounds every call of a test.
const deadline = time.Minute

// world is a data and a runtime directory of a test's own, and a mount point.
type world struct {
	daemon, home, point string
	run                 *rundir.Root
}

// newWorld makes them where every user can search.
func newWorld(t *testing.T) *world {
	t.Helper()
	testenv.RequireFUSE(t)
	if os.Geteuid() != 0 {
		testenv.RequireFusermount(t)
	}
	w := &world{daemon: testenv.Binaries(t).Sandboxfsd}
	root := t.TempDir()
	for _, d := range []string{root, filepath.Dir(root)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.home, w.point = filepath.Join(root, "home"), filepath.Join(root, "point")
	for _, d := range []string{filepath.Join(w.home, "skills"), w.point} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.run, err = rundir.Open(filepath.Join(root, "run")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mounts, err := mounter.List(w.run, w.home)
		if err != nil {
			t.Error(err)
		}
		for _, m := range mounts {
			// One that somebody has just unmounted may be listed until its server ended.
			if err := w.unmount(m.Point, provider.UnmountLazy); err != nil && !errors.Is(err, provider.NotFound) {
				t.Errorf("at the end, %s: %v", m.Point, err)
			}
		}
		w.run.Close()
	})
	return w
}

func (w *world) spec(thread string) mounter.Spec {
	return mounter.Spec{
		Source: regions.Source{Key: mapping.Key{Thread: thread}, Home: w.home, SkillsDir: filepath.Join(w.home, "skills")},
		Point:  w.point, View: provider.ViewOperator, Ownership: provider.OwnershipOwner,
		UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()),
	}
}

func (w *world) mount(spec mounter.Spec) (provider.HostMount, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return mounter.Mount(ctx, w.daemon, w.run, spec)
}

func (w *world) unmount(point string, how provider.UnmountMode) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return mounter.Unmount(ctx, w.run, point, how)
}

// host is the directory behind a virtual one.
func (w *world) host(thread, virtual string) string {
	if virtual == mapping.Skills {
		return filepath.Join(w.home, "skills")
	}
	return filepath.Join(w.home, "users/default/threads", thread, virtual[len("/mnt/"):])
}

// at is a virtual path in the mount.
func (w *world) at(virtual string) string { return w.point + virtual }
