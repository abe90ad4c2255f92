package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func TestTurn(t *testing.T) {
	testenv.RequireFUSE(t)
	t.Setenv("SANDBOXFSD", testenv.Binaries(t).Sandboxfsd)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	p, err := local.New(provider.Config{Home: filepath.Join(dir, "home"), RuntimeDir: filepath.Join(dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.WithoutCancel(ctx))
	defer p.Stop(context.WithoutCancel(ctx), mapping.Key{Thread: "demo"})
	state := map[string]string{}
	for range 2 { // the second turn finds the sandbox of the first
		var out bytes.Buffer
		if err := turn(ctx, p, filepath.Join(dir, "audit"), state, script(), &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.HasPrefix(got, "write_file: OK\nbash: 42\n\nbash: Error: Command blocked: ") {
			t.Errorf("got %q", got)
		}
	}
	if state["sandbox"] != local.IDOf(mapping.Key{Thread: "demo"}) {
		t.Errorf("the state is %v", state)
	}
}
