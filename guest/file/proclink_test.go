package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/provider"
)

// The text of a link in /proc is a path of the guest's own: a write must not
// follow it, nor show it.
func TestWriteThroughALinkOfProc(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	f, err := os.Create(victim)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	direct := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(direct, link); err != nil {
		t.Fatal(err)
	}
	files := New()
	for _, p := range []string{direct, link} {
		for _, mode := range []provider.WriteMode{provider.Replace, provider.Append} {
			err := files.Write(t.Context(), p, strings.NewReader("x"), 1, mode)
			if !errors.Is(err, provider.Denied) || strings.Contains(err.Error(), victim) {
				t.Errorf("Write(%s) = %v, want denied", p, err)
			}
		}
	}
	if b, err := os.ReadFile(victim); err != nil || len(b) != 0 {
		t.Errorf("the file holds %q, %v", b, err)
	}
}
