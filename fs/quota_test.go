package fs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/treesuite"
)

// counted are the regions that a quota counts.
var counted = []string{mapping.Workspace, mapping.Outputs, mapping.Uploads, mapping.ACPWorkspace}

// small is the quota of treesuite.RunQuota.
var small = provider.QuotaConfig{Bytes: treesuite.QuotaBytes, Files: treesuite.QuotaFiles}

func quotaSpec(w world) childSpec {
	return childSpec{
		Regions: w.regions, Home: w.root, RunDir: filepath.Join(w.root, "run"), Quota: small,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
	}
}

func TestQuota(t *testing.T) {
	for name, trees := range map[string]int{"one tree": 1, "two trees": 2} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				testenv.Skip(t, "mounting in the host's namespace needs root")
			}
			treesuite.RunQuota(t, func(t *testing.T) treesuite.QuotaSubject {
				w := newWorld(t)
				m := mount(t, quotaSpec(w), fs.MountOptions{}, nil)
				s := treesuite.QuotaSubject{
					Dir: filepath.Join(m.Dir, mapping.Workspace), Other: filepath.Join(m.Dir, mapping.Outputs),
					Bytes: small.Bytes, Files: small.Files,
				}
				for _, virtual := range counted {
					s.Hosts = append(s.Hosts, w.host(t, virtual))
				}
				if trees == 2 {
					spec := quotaSpec(w)
					spec.View = mapping.OperatorView
					s.Elsewhere = filepath.Join(mount(t, spec, fs.MountOptions{}, nil).Dir, mapping.Workspace)
				}
				return s
			})
		})
	}
}
