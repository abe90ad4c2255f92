package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

func TestWork(t *testing.T) {
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
	var out bytes.Buffer
	if err := work(ctx, p, &out); err != nil {
		t.Fatal(err)
	}
	if want := "status 0, printed \"42\\n\", wrote \"42\\n\"\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
