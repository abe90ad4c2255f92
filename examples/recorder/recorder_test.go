package recorder_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/examples/recorder"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/execsuite"
	"github.com/sandboxfs/sandboxfs/test/filesuite"
	"github.com/sandboxfs/sandboxfs/test/lifecycle"
)

func TestLifecycle(t *testing.T) {
	config := ownDirectories(t)
	lifecycle.Run(t, lifecycle.Options{
		New: func(t testing.TB) provider.Provider {
			p, err := recorder.New(config, func(string, provider.Command) {})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Hidden: []string{config.Home}, // no error shows a host path
	})
}

func TestCommands(t *testing.T) {
	var recorded atomic.Int64
	s := sandbox(t, func(string, provider.Command) { recorded.Add(1) })
	execsuite.Run(t, func(testing.TB) provider.Sandbox { return s }, execsuite.Facts{Dir: mapping.Workspace})
	if recorded.Load() == 0 {
		t.Error("no command was recorded")
	}
}

func TestFiles(t *testing.T) {
	s := sandbox(t, func(string, provider.Command) {})
	filesuite.Run(t, func(testing.TB) provider.Sandbox { return s },
		filesuite.Facts{Dir: mapping.Workspace, ReadOnly: mapping.Uploads, Undownloadable: "/etc/passwd"})
}

// ownDirectories keeps a test apart from the sandboxes of whoever runs it.
func ownDirectories(t *testing.T) provider.Config {
	needPrograms(t)
	dir := t.TempDir()
	return provider.Config{Home: filepath.Join(dir, "home"), RuntimeDir: filepath.Join(dir, "run")}
}

func sandbox(t *testing.T, record func(string, provider.Command)) provider.Sandbox {
	p, err := recorder.New(ownDirectories(t), record)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	key := mapping.Key{Thread: "suite"}
	t.Cleanup(func() {
		if err := p.Stop(context.Background(), key); err != nil {
			t.Error(err)
		}
	})
	id, err := p.Acquire(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
