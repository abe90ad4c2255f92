package regions

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func TestRootsAreMadeAndNeverThroughASymlink(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	source := Source{Home: home, Key: mapping.Key{Thread: "t"}}
	table, err := source.Table()
	if err != nil {
		t.Fatal(err)
	}
	roots, err := source.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	Close(roots)
	var names []string
	for name := range roots {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{mapping.ACPWorkspace, mapping.Skills, mapping.Outputs, mapping.Uploads, mapping.Workspace}; !slices.Equal(names, want) {
		t.Errorf("roots of %q, want %q", names, want)
	}
	workspace := filepath.Join(home, "users/default/threads/t/user-data/workspace")
	if err := os.Remove(workspace); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, workspace); err != nil {
		t.Fatal(err)
	}
	_, err = source.Open(table)
	if !errors.Is(err, provider.Unavailable) || strings.Contains(err.Error(), home) {
		t.Errorf("a symlink for a region: %v, want unavailable without a host path", err)
	}
}
