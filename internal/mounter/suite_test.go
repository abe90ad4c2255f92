package mounter_test

import (
	"os"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/treesuite"
)

// TestTree runs the tree's suite over mounts on the host, in each form that
// its user can have.
func TestTree(t *testing.T) { runTree(t) }

func TestTreeAsUser(t *testing.T) {
	if !testenv.AsUser(t) {
		runTree(t)
	}
}

func runTree(t *testing.T) {
	forms := []struct {
		name     string
		root     bool
		readOnly string
		change   func(*mounter.Spec)
	}{
		{"operator", false, mapping.Skills, func(*mounter.Spec) {}},
		{"agent", false, mapping.Uploads, func(s *mounter.Spec) { s.View = provider.ViewAgent }},
		{"preserve", true, mapping.Skills, func(s *mounter.Spec) { s.Ownership = provider.OwnershipPreserve }},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			if f.root && os.Geteuid() != 0 {
				testenv.SkipArchitectural(t, "only root keeps the host's owners")
			}
			treesuite.Run(t, func(t *testing.T) treesuite.Subject {
				w := newWorld(t)
				spec := w.spec("t")
				if os.Geteuid() == 0 { // the suite's other users
					spec.Audience = mounter.Everybody
				}
				f.change(&spec)
				if _, err := w.mount(spec); err != nil {
					t.Fatal(err)
				}
				s := treesuite.Subject{
					Dir: w.at(mapping.Workspace), Host: w.host("t", mapping.Workspace), Other: w.at(mapping.Outputs),
					ReadOnly: w.at(f.readOnly), ReadOnlyHost: w.host("t", f.readOnly), Synthetic: w.at("/mnt"), Quick: true,
				}
				if spec.Ownership == provider.OwnershipOwner {
					s.Single = &treesuite.Account{UID: int(spec.UID), GID: int(spec.GID)}
				}
				return s
			})
		})
	}
}
