package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/test/treesuite"
)

// custom adds mounts to a thread's world: outside of /mnt and below it, inside
// one another, writable in read-only and the other way round, and on a way that
// only the table makes.
func (w *world) custom(t *testing.T) {
	t.Helper()
	const ro, rw = mapping.ReadOnly, mapping.ReadWrite
	for at, access := range map[string]mapping.Access{
		"/data": rw, "/data/ro": ro, "/data/way/to/rw": rw, "/srv/a/ro": ro, "/srv/a/ro/rw": rw, "/srv/a/ro/way/rw": rw, "/mnt/extra/rw": rw,
	} {
		host := filepath.Join(w.root, "custom", filepath.Base(filepath.Dir(at))+"-"+filepath.Base(at))
		if err := os.MkdirAll(host, 0o755); err != nil {
			t.Fatal(err)
		}
		w.regions = append(w.regions, mapping.Region{Virtual: at, Host: host, Agent: access, Operator: access})
	}
	slices.SortFunc(w.regions, func(a, b mapping.Region) int { return len(b.Virtual) - len(a.Virtual) })
}

// TestSuiteOverCustomMounts demands the answers of a plain directory from
// custom mounts, wherever they lie.
func TestSuiteOverCustomMounts(t *testing.T) {
	for _, c := range []struct {
		name                            string
		dir, other, readOnly, synthetic string
		ownership                       fs.Ownership
		as                              *account
	}{
		{name: "at the top", dir: "/data", other: "/mnt/user-data/workspace", readOnly: "/data/ro", synthetic: "/srv/a", ownership: fs.Preserve},
		{name: "inside a read-only one", dir: "/srv/a/ro/rw", other: "/data/way/to/rw", readOnly: "/srv/a/ro", synthetic: "/srv/a/ro/way"},
		{name: "on a way of the table", dir: "/srv/a/ro/way/rw", other: "/mnt/extra/rw", readOnly: "/mnt/skills", synthetic: "/data/way/to", as: &nobody},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				testenv.Skip(t, "mounting in the host's namespace needs root")
			}
			treesuite.Run(t, func(t *testing.T) treesuite.Subject {
				w := newWorld(t)
				w.custom(t)
				reachable(t, w.root)
				spec := childSpec{Regions: w.regions, UID: 1000, GID: 1000, Ownership: c.ownership}
				if c.as != nil {
					give(t, w.root, *c.as)
				}
				m := mount(t, spec, fs.MountOptions{}, c.as)
				reachable(t, filepath.Dir(m.Dir))
				at := func(virtual string) string { return filepath.Join(m.Dir, virtual) }
				s := treesuite.Subject{
					Dir: at(c.dir), Host: w.host(t, c.dir), Other: at(c.other),
					ReadOnly: at(c.readOnly), ReadOnlyHost: w.host(t, c.readOnly), Synthetic: at(c.synthetic), Quick: true,
				}
				if c.ownership == fs.Owner {
					s.Single = &shown
				}
				return s
			})
		})
	}
}

// TestRegionInsideARegion looks at the border: the place where one region lies
// in another belongs to the inner one, whatever the host has there.
func TestRegionInsideARegion(t *testing.T) {
	w := newWorld(t)
	w.custom(t)
	m := mount(t, childSpec{Regions: w.regions, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}, fs.MountOptions{}, nil)
	in := func(virtual string) string { return filepath.Join(m.Dir, virtual) }
	outer, inner := w.host(t, "/data"), w.host(t, "/data/ro")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(inner, "f"), "inner")
	write(filepath.Join(outer, "ro"), "the host's file of that name")
	if err := os.Mkdir(filepath.Join(outer, "own"), 0o755); err != nil {
		t.Fatal(err)
	}
	names := func(virtual string) []string {
		t.Helper()
		entries, err := os.ReadDir(in(virtual))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			if !e.IsDir() {
				t.Errorf("%s in %s is no directory", e.Name(), virtual)
			}
			names = append(names, e.Name())
		}
		return names
	}
	if got, want := names("/data"), []string{"own", "ro", "way"}; !slices.Equal(got, want) {
		t.Errorf("the outer one lists %q, want %q, each once", got, want)
	}
	if got, err := os.ReadFile(in("/data/ro/f")); err != nil || string(got) != "inner" {
		t.Errorf("the inner one's file: %q, %v", got, err)
	}
	for name, c := range map[string]struct {
		call func() error
		want unix.Errno
	}{
		"rmdir of the inner one":  {func() error { return unix.Rmdir(in("/data/ro")) }, unix.EBUSY},
		"rename of the inner one": {func() error { return unix.Rename(in("/data/ro"), in("/data/x")) }, unix.EBUSY},
		"rename onto it":          {func() error { return unix.Rename(in("/data/own"), in("/data/ro")) }, unix.EBUSY},
		"rmdir of the way":        {func() error { return unix.Rmdir(in("/data/way")) }, unix.EBUSY},
		"rename of the way":       {func() error { return unix.Rename(in("/data/way"), in("/data/x")) }, unix.EBUSY},
		"exchange with the way": {func() error {
			return unix.Renameat2(unix.AT_FDCWD, in("/data/own"), unix.AT_FDCWD, in("/data/way"), unix.RENAME_EXCHANGE)
		}, unix.EBUSY},
		"mkdir of the way":              {func() error { return unix.Mkdir(in("/data/way"), 0o755) }, unix.EEXIST},
		"a file on the way":             {func() error { return os.WriteFile(in("/data/way/f"), nil, 0o644) }, unix.EROFS},
		"a file in the inner one":       {func() error { return os.WriteFile(in("/data/ro/g"), nil, 0o644) }, unix.EROFS},
		"a rename into the inner one":   {func() error { return unix.Rename(in("/data/own"), in("/data/ro/own")) }, unix.EROFS},
		"a link out of the inner one":   {func() error { return unix.Link(in("/data/ro/f"), in("/data/f")) }, unix.EROFS},
		"a rename out of the inner one": {func() error { return unix.Rename(in("/data/ro/f"), in("/data/f")) }, unix.EROFS},
	} {
		if err := c.call(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	// A symlink into the read-only one does not make it writable, nor one out
	// of it anything else read-only.
	for link, target := range map[string]string{"/data/in": "ro/f", "/srv/a/ro/rw/up": "../../../../data/own/made"} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in("/data/in"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("a write through a link into the read-only region: %v, want EROFS", err)
	}
	if err := os.WriteFile(in("/srv/a/ro/rw/up"), []byte("x"), 0o644); err != nil {
		t.Errorf("a write through a link out of a writable one in a read-only one: %v", err)
	}
	// The host makes the way a directory of its own: what is in it is seen, and
	// the region in it stays.
	if err := os.MkdirAll(filepath.Join(outer, "way", "to"), 0o755); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, 10*time.Second, "a file on the way that the host made", func() bool {
		return os.WriteFile(in("/data/way/to/f"), []byte("x"), 0o644) == nil
	})
	if err := os.WriteFile(in("/data/way/to/rw/g"), nil, 0o644); err != nil {
		t.Errorf("a file in the region beyond: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.host(t, "/data/way/to/rw"), "g")); err != nil {
		t.Errorf("it is not in that region's directory: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(outer, "way")); err != nil {
		t.Fatal(err)
	}
	testenv.Poll(t, 10*time.Second, "the way again without the host's", func() bool { return slices.Equal(names("/data/way/to"), []string{"rw"}) })
	if _, err := os.Stat(in("/data/way/to/rw/g")); err != nil {
		t.Errorf("the region beyond, after the host removed the way: %v", err)
	}
}
