package mounter_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// TestQuotaOfTwoMounts holds that the servers of one thread count together.
func TestQuotaOfTwoMounts(t *testing.T) {
	w := newWorld(t)
	first := w.spec("t")
	first.Quota = provider.QuotaConfig{Bytes: 1 << 20}
	second := first
	second.Point = filepath.Join(filepath.Dir(w.home), "second")
	if err := os.Mkdir(second.Point, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []mounter.Spec{first, second} {
		if _, err := w.mount(spec); err != nil {
			t.Fatal(err)
		}
	}
	a, b := first.Point+mapping.Workspace+"/a", second.Point+mapping.Outputs+"/b"
	if err := os.WriteFile(a, make([]byte, 800<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b, make([]byte, 800<<10), 0o644); !errors.Is(err, unix.EDQUOT) {
		t.Errorf("more than both may hold: %v, want EDQUOT", err)
	}
	for _, f := range []string{a, b} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(b, make([]byte, 800<<10), 0o644); err != nil {
		t.Errorf("after the first file is gone: %v", err)
	}
}
