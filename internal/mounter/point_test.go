package mounter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

func TestRefusedPoints(t *testing.T) {
	w := newWorld(t)
	root := filepath.Dir(w.home)
	dir := func(name string) string {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	custom := dir("custom/in")
	if err := os.WriteFile(filepath.Join(dir("full"), "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, point string
		want        provider.Kind
		says        string
	}{
		{"missing", filepath.Join(root, "missing"), provider.NotFound, "mkdir -p"},
		{"below a missing one", filepath.Join(root, "missing/x"), provider.NotFound, "mkdir -p"},
		{"not UTF-8", dir("no\xffutf8"), provider.Invalid, `"` + root + `/no\xffutf8" is not UTF-8`},
		{"a file", filepath.Join(root, "full/file"), provider.Invalid, "not a directory"},
		{"below a file", filepath.Join(root, "full/file/x"), provider.Invalid, "not a directory"},
		{"not empty", filepath.Join(root, "full"), provider.NotEmpty, "not empty"},
		{"in the data directory", dir("home/new"), provider.Invalid, "wait for itself"},
		{"the data directory", w.home, provider.Invalid, "wait for itself"},
		{"above the data directory", root, provider.Invalid, "hide it"},
		{"in a custom mount", custom, provider.Invalid, "wait for itself"},
		{"below /usr", "/usr/share", provider.Invalid, "every sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := w.spec("t")
			spec.Point = tt.point
			spec.Mounts = []provider.Mount{{HostPath: filepath.Dir(custom), ContainerPath: "/srv/in"}}
			_, err := w.mount(spec)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %s: %s", err, tt.want, tt.says)
			}
		})
	}
	if _, err := os.Stat(w.host("t", mapping.Workspace)); err == nil {
		t.Error("a refused mount made the thread's directories")
	}
	if left, _ := w.run.Mounts(); len(left) > 0 {
		t.Errorf("%d directories are left in the runtime directory", len(left))
	}
}

// TestUnmountWhatIsNotThere holds that nobody who unmounts is told what to
// mount at.
func TestUnmountWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	root := filepath.Dir(w.home)
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for point, want := range map[string]struct {
		kind provider.Kind
		says string
	}{
		w.point:                          {provider.NotFound, "nothing is mounted at " + w.point},
		filepath.Join(root, "missing"):   {provider.NotFound, "nothing is mounted"},
		filepath.Join(root, "missing/x"): {provider.NotFound, "there is no directory " + root + "/missing/x, so nothing is mounted there"},
		filepath.Join(file, "x"):         {provider.NotFound, "nothing is mounted"},
		filepath.Join(file, "x/y"):       {provider.Invalid, "is not a directory"},
	} {
		err := w.unmount(point, provider.UnmountIdle)
		if !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.says) || !strings.HasSuffix(err.Error(), "list the mounts: sandboxfs mount") {
			t.Errorf("%s: got %v, want %s: %s", point, err, want.kind, want.says)
		}
	}
}

// TestRefusedThroughABindMount holds that another path to the data directory
// is no way around.
func TestRefusedThroughABindMount(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t)
	other := filepath.Join(filepath.Dir(w.home), "other")
	for _, d := range []string{other, filepath.Join(w.home, "new")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount(w.home, other, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(other, unix.MNT_DETACH) })
	spec := w.spec("t")
	spec.Point = filepath.Join(other, "new")
	if _, err := w.mount(spec); !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "wait for itself") {
		t.Errorf("got %v", err)
	}
}

func TestAudience(t *testing.T) {
	testenv.RequireRoot(t)
	tests := []struct {
		audience    mounter.Audience
		read, write bool // by another user, in a workspace that is root's
	}{
		{mounter.MounterOnly, false, false},
		{mounter.Everybody, true, false},
		{mounter.Container, true, true},
	}
	u := testenv.OrdinaryUser(t)
	for _, tt := range tests {
		t.Run(string(tt.audience), func(t *testing.T) {
			w := newWorld(t)
			spec := w.spec("t")
			spec.Audience = tt.audience
			if _, err := w.mount(spec); err != nil {
				t.Fatal(err)
			}
			// What is not mine to read is not mine to reach: /mnt is always shown 0755.
			if got := as(t, u, "ls", w.at(mapping.Workspace)); got != tt.read {
				t.Errorf("another user lists: %v, want %v", got, tt.read)
			}
			if got := as(t, u, "touch", w.at(mapping.Workspace)+"/f"); got != tt.write {
				t.Errorf("another user writes: %v, want %v", got, tt.write)
			}
			if got := as(t, u, "touch", w.at(mapping.Skills)+"/f"); got {
				t.Error("another user writes skills")
			}
			if st, err := os.Lstat(w.host("t", mapping.Workspace) + "/f"); err == nil && st.Sys() != nil {
				var on unix.Stat_t
				if unix.Lstat(w.host("t", mapping.Workspace)+"/f", &on) != nil || on.Uid != 0 {
					t.Errorf("on disk it belongs to %d, want the operator", on.Uid)
				}
			}
		})
	}
}
