package mounter

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// TestAskedAtOnce asks servers in the moment in which their mounts are there,
// once: no such question may be lost.
func TestAskedAtOnce(t *testing.T) {
	testenv.RequireRoot(t)
	testenv.RequireFUSE(t)
	base := t.TempDir()
	home, point := filepath.Join(base, "home"), filepath.Join(base, "point")
	for _, dir := range []string{home, point} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run, err := rundir.Open(filepath.Join(base, "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	here, err := namespace()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	spec := Spec{
		Source: regions.Source{Key: mapping.Key{Thread: "t"}, Home: home, SkillsDir: filepath.Join(home, "skills")},
		Point:  point, View: provider.ViewOperator, Ownership: provider.OwnershipOwner,
	}
	for range 20 {
		if _, err := Mount(ctx, testenv.Binaries(t).Sandboxfsd, run, spec); err != nil {
			t.Fatal(err)
		}
		user, err := os.Open(point + mapping.Workspace)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		dir := run.Mount(here, point)
		lock, err := dir.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		short, stop := context.WithTimeout(ctx, lookInterval/2) // it looks by itself only later
		err = letGo(short, dir, time.Minute)
		stop()
		lock.Remove()
		user.Close() // ends the server
		if err != nil {
			t.Fatal(err)
		}
	}
}
