package mounter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/test/posixsuite"
)

// TestPOSIX compares a mount on the host with a plain directory, as root and
// as an ordinary user, who is then also the only one of the mount.
func TestPOSIX(t *testing.T) { runPOSIX(t) }

func TestPOSIXAsUser(t *testing.T) {
	if !testenv.AsUser(t) {
		runPOSIX(t)
	}
}

func runPOSIX(t *testing.T) {
	testenv.Binaries(t) // where they always are
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // spares the disk
	}
	w := newWorld(t)
	spec := w.spec("t")
	if os.Geteuid() == 0 {
		spec.Audience = mounter.Everybody
	}
	if _, err := w.mount(spec); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(filepath.Dir(w.home), "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	who := posixsuite.Account{UID: int(spec.UID), GID: int(spec.GID)}
	posixsuite.RunCalls(t, posixsuite.Subject{
		Name: t.Name(), Dir: w.at(mapping.Workspace), Host: w.host("t", mapping.Workspace), Plain: plain, Tree: true, Passthrough: os.Geteuid() == 0,
		Single: &who, Keeper: who, Share: 32,
	})
}
