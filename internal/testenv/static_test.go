package testenv

import (
	"context"
	"debug/elf"
	"os/exec"
	"testing"
	"time"
)

func TestBinariesAreStaticAndForEverybody(t *testing.T) {
	p := Binaries(t)
	for _, name := range []string{p.Sandboxfs, p.Sandboxfsd} {
		f, err := elf.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, prog := range f.Progs {
			if prog.Type == elf.PT_INTERP || prog.Type == elf.PT_DYNAMIC {
				t.Errorf("%s is linked dynamically; it must run in a root without libraries", name)
			}
		}
		_ = f.Close()
	}
	if again := Binaries(t); again != p {
		t.Errorf("a second call returned %+v, the first %+v", again, p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, p.Sandboxfs, "version").CombinedOutput(); err != nil {
		t.Errorf("sandboxfs version: %v: %s", err, out)
	}
	u := OrdinaryUser(t)
	if out, err := u.Command(ctx, p.Sandboxfs, "version").CombinedOutput(); err != nil {
		t.Errorf("sandboxfs version, as the ordinary user: %v: %s", err, out)
	}
}
