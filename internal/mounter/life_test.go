package mounter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// as runs a program as another user and reports whether it succeeded.
func as(t *testing.T, u *testenv.User, argv ...string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	return u.Command(ctx, argv...).Run() == nil
}

// TestRenamedParent holds that a mount is found where it is, not where it was
// made.
func TestRenamedParent(t *testing.T) {
	w := newWorld(t)
	parent := filepath.Join(filepath.Dir(w.home), "before")
	w.point = filepath.Join(parent, "point")
	if err := os.MkdirAll(w.point, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.mount(w.spec("t")); err != nil {
		t.Fatal(err)
	}
	after := filepath.Join(filepath.Dir(w.home), "after")
	if err := os.Rename(parent, after); err != nil {
		t.Fatal(err)
	}
	mounts, err := mounter.List(w.run, w.home)
	if err != nil || len(mounts) != 1 || mounts[0].Point != after+"/point" || mounts[0].State != "mounted" {
		t.Errorf("after a rename: %+v, %v", mounts, err)
	}
	spec := w.spec("t")
	spec.Point = after + "/point"
	if m, err := w.mount(spec); err != nil || !m.Already {
		t.Errorf("mounting there again: %+v, %v", m, err)
	}
	if err := w.unmount(spec.Point, provider.UnmountIdle); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(spec.Point); err != nil || len(left) > 0 {
		t.Errorf("after unmounting: %v, %v", left, err)
	}
}

// TestMountOutOfReach has mounts that are healthy and yet in the way: what is so
// is said, and nobody is told to end a server.
func TestMountOutOfReach(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t)
	if _, err := w.mount(w.spec("t")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", w.point, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	wants := func(what string, err error, says ...string) {
		t.Helper()
		for _, text := range says {
			if !errors.Is(err, provider.Conflict) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got %v, want a conflict that says %q", what, err, text)
			}
		}
	}
	_, err := w.mount(w.spec("t"))
	wants("mounting below another mount", err, "(tmpfs) lies over it", "umount "+w.point)
	err = w.unmount(w.point, provider.UnmountIdle)
	wants("unmounting below another mount", err, "(tmpfs) lies over", "umount "+w.point)
	if err := unix.Unmount(w.point, 0); err != nil {
		t.Fatal(err)
	}
	if m, err := w.mount(w.spec("t")); err != nil || !m.Already {
		t.Errorf("with nothing over it: %+v, %v", m, err)
	}
	if err := w.unmount(w.point, provider.UnmountIdle); err != nil {
		t.Fatal(err)
	}

	// A directory above it is renamed, and another takes its place.
	before, after := filepath.Join(filepath.Dir(w.home), "before"), filepath.Join(filepath.Dir(w.home), "after")
	w.point = filepath.Join(before, "point")
	if err := os.MkdirAll(w.point, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.mount(w.spec("t")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(before, after), os.MkdirAll(w.point, 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err = w.mount(w.spec("other"))
	wants("mounting where a mount was", err, "was renamed", "sandboxfs umount "+after+"/point")
}

// TestMountLivesOnElsewhere holds that unmounting ends the server also where
// another mount namespace has a copy of the mount.
func TestMountLivesOnElsewhere(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t)
	m, err := w.mount(w.spec("t"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	other := osexec.CommandContext(ctx, "unshare", "--mount", "--propagation", "private", "sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, deadline, "another mount namespace", func() bool {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", other.Process.Pid))
		return err == nil && theirs != ours
	})
	if err := w.unmount(w.point, provider.UnmountIdle); err != nil {
		t.Fatal(err)
	}
	if living(m.PID) {
		t.Error("the server lives on")
	}
}

// TestManyAtOnce makes twenty mounts at once, and twenty callers want the same
// one.
func TestManyAtOnce(t *testing.T) { manyAtOnce(t) }

func TestManyAtOnceAsUser(t *testing.T) {
	if !testenv.AsUser(t) {
		manyAtOnce(t)
	}
}

func manyAtOnce(t *testing.T) {
	w := newWorld(t)
	testenv.NoLeaks(t, testenv.Leaks{MountsBelow: []string{filepath.Dir(w.home)}})
	const n = 20
	var all sync.WaitGroup
	fresh := make(chan bool, n)
	for i := range n {
		spec := w.spec(fmt.Sprintf("t%d", i))
		spec.Point = filepath.Join(filepath.Dir(w.home), fmt.Sprintf("p%d", i))
		if err := os.Mkdir(spec.Point, 0o755); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if _, err := w.mount(spec); err != nil {
				t.Errorf("%s: %v", spec.Key, err)
				return
			}
			file := spec.Point + mapping.Outputs + "/f"
			if err := os.WriteFile(file, []byte(spec.Point), 0o644); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			m, err := w.mount(w.spec("same"))
			if err != nil {
				t.Errorf("the same: %v", err)
			}
			fresh <- !m.Already
		})
	}
	all.Wait()
	made := 0
	for range n {
		if <-fresh {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d callers made the one mount, want 1", made)
	}
	mounts, err := mounter.List(w.run, w.home)
	if err != nil || len(mounts) != n+1 {
		t.Fatalf("%d mounts, want %d; %v", len(mounts), n+1, err)
	}
	for _, m := range mounts {
		all.Go(func() {
			if err := w.unmount(m.Point, provider.UnmountIdle); err != nil {
				t.Error(err)
			}
			if living(m.PID) {
				t.Errorf("the server of %s lives on", m.Point)
			}
		})
	}
	all.Wait()
	for i := range n {
		got, err := os.ReadFile(w.host(fmt.Sprintf("t%d", i), mapping.Outputs) + "/f")
		if want := filepath.Join(filepath.Dir(w.home), fmt.Sprintf("p%d", i)); err != nil || string(got) != want {
			t.Errorf("t%d: %q, %v", i, got, err)
		}
	}
	if left, _ := w.run.Mounts(); len(left) > 0 {
		t.Errorf("%d directories are left in the runtime directory", len(left))
	}
}

// TestRuntimeDirectoryRemoved holds that a mount whose record is gone can be
// healed when its server is gone too.
func TestRuntimeDirectoryRemoved(t *testing.T) {
	w := newWorld(t)
	m, err := w.mount(w.spec("t"))
	if err != nil {
		t.Fatal(err)
	}
	kill(t, m.PID)
	dirs, err := w.run.Mounts()
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.RemoveAll(dirs[0].Path()); err != nil {
		t.Fatal(err)
	}
	if err := w.unmount(w.point, provider.UnmountIdle); !errors.Is(err, provider.NotFound) {
		t.Errorf("unmounting what is not recorded: %v", err)
	}
	if _, err := w.mount(w.spec("t")); err != nil {
		t.Fatal(err)
	}
	if err := w.unmount(w.point, provider.UnmountIdle); err != nil {
		t.Error(err)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, 10*time.Second, "the server to end", func() bool { return !living(pid) })
}

// living reports whether a process runs; one that nobody waited for does not.
func living(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	for i := len(stat) - 1; i > 0; i-- {
		if stat[i] == ')' {
			return stat[i+2] != 'Z' && stat[i+2] != 'X'
		}
	}
	return false
}

// TestNumbersUsedAgain holds that a server whose mount is gone leaves alone the
// mount that the kernel then gives the same numbers.
func TestNumbersUsedAgain(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t)
	parent := filepath.Dir(w.home)
	before := 0
	for i := range 20 {
		spec := w.spec("t")
		spec.Point = filepath.Join(parent, fmt.Sprintf("p%d", i))
		if err := os.Mkdir(spec.Point, 0o755); err != nil {
			t.Fatal(err)
		}
		m, err := w.mount(spec)
		if err != nil {
			t.Fatal(err)
		}
		if before != 0 {
			testenv.Poll(t, deadline, "the server before to end", func() bool { return !living(before) })
		}
		if _, err := os.Lstat(spec.Point + "/mnt"); err != nil {
			t.Fatalf("mount %d, after the end of the server before: %v", i, err)
		}
		before = m.PID
		if err := unix.Unmount(spec.Point, 0); err != nil {
			t.Fatal(err)
		}
	}
}
