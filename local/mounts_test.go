package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func TestMounts(t *testing.T) {
	newHost(t) // or skip
	testMounts(t)
}

func TestMountsAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	testMounts(t)
}

func testMounts(t *testing.T) {
	h, base := newHost(t), t.TempDir()
	dir := func(name string) string {
		t.Helper()
		name = filepath.Join(base, name)
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
		return name
	}
	outer, inner := dir("outer"), dir("inner")
	h.cfg.Mounts = []provider.Mount{
		{HostPath: outer, ContainerPath: "/data"}, {HostPath: inner, ContainerPath: "/data/inner", ReadOnly: true},
	}
	p := h.open(t)
	ctx := minute(t)

	// The operator's write goes where the tree shows it, and starts nothing.
	id := local.IDOf(mapping.Key{Thread: "t"})
	if _, err := p.Acquire(ctx, mapping.Key{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	s, err := p.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateFile(ctx, "/data/a/b", []byte("by the operator")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(outer, "a", "b")); err != nil || string(got) != "by the operator" {
		t.Errorf("on the host: %q, %v", got, err)
	}
	if got, err := s.ReadFile(ctx, "/data/a/b", provider.LineRange{}); err != nil || string(got) != "by the operator" {
		t.Errorf("inside: %q, %v", got, err)
	}
	if err := s.UpdateFile(ctx, "/data/inner/f", nil); !errors.Is(err, provider.ReadOnlyFS) {
		t.Errorf("a write into the read-only one: %v", err)
	}
	if err := s.WriteFile(ctx, "/data/inner/f", nil, provider.Replace); !errors.Is(err, provider.ReadOnlyFS) {
		t.Errorf("a tool's write into the read-only one: %v", err)
	}
	for _, name := range []string{"/data", "/data/inner", "/other/f"} {
		if err := s.UpdateFile(ctx, name, nil); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	// A link that an agent made leads an operator's write nowhere.
	outside := dir("outside")
	if _, err := output(ctx, p, "t", "ln -s "+outside+" /data/link && ln -s "+outside+"/f /data/file"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/data/link/f", "/data/file"} {
		if err := s.UpdateFile(ctx, name, []byte("x")); err == nil || strings.Contains(err.Error(), base) {
			t.Errorf("a write through a link: %v, want a refusal without a host path", err)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside of the mount: %v, %v", left, err)
	}

	// What a live sandbox shows is not changed under it, nor ignored.
	for name, change := range map[string]func(*provider.Config){
		"no mounts":    func(c *provider.Config) { c.Mounts = nil },
		"writable now": func(c *provider.Config) { c.Mounts[1].ReadOnly = false },
		"quota":        func(c *provider.Config) { c.Local.Quota.Files = 10000 },
		"skills_dir":   func(c *provider.Config) { c.SkillsDir = outside },
	} {
		other := *h
		other.cfg.Mounts = append([]provider.Mount(nil), h.cfg.Mounts...)
		change(&other.cfg)
		_, err := other.open(t).Acquire(ctx, mapping.Key{Thread: "t"})
		if !errors.Is(err, provider.Conflict) || !strings.Contains(err.Error(), "sandboxfs stop t") || strings.Contains(err.Error(), base) {
			t.Errorf("%s: %v, want a conflict that says how to end it", name, err)
		}
	}
	// In another order they are the same.
	same := *h
	same.cfg.Mounts = []provider.Mount{h.cfg.Mounts[1], h.cfg.Mounts[0]}
	if _, err := same.open(t).Acquire(ctx, mapping.Key{Thread: "t"}); err != nil {
		t.Errorf("the same mounts in another order: %v", err)
	}
}

func TestUnusableMounts(t *testing.T) {
	base := t.TempDir()
	cfg := provider.Config{Home: filepath.Join(base, "home"), RuntimeDir: filepath.Join(base, "run")}
	file, link := filepath.Join(base, "file"), filepath.Join(base, "link")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "home"), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host string
		kind provider.Kind
		want string
	}{
		"missing":                     {filepath.Join(base, "none"), provider.NotFound, "does not exist"},
		"a file":                      {file, provider.Invalid, "is not a directory"},
		"a symlink to the data":       {link, provider.Invalid, "data directory"},
		"the data directory":          {filepath.Join(base, "home"), provider.Invalid, "data directory"},
		"above the runtime directory": {base, provider.Invalid, "directory"},
	} {
		cfg.Mounts = []provider.Mount{{HostPath: c.host, ContainerPath: "/data"}}
		_, err := local.New(cfg)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.want)
		}
	}
}

// What an isolated sandbox has at its root is its own: no mount may take it.
func TestNoMountTakesAPlaceOfTheSystem(t *testing.T) {
	h := newHost(t)
	out, err := output(minute(t), h.open(t), "t", "ls /")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(out)
	if len(names) < 8 {
		t.Errorf("the root has only %q", names)
	}
	for _, name := range names {
		if (provider.Mount{HostPath: "/srv", ContainerPath: "/" + name}).Validate() == nil {
			t.Errorf("a mount at /%s is accepted", name)
		}
	}
}
