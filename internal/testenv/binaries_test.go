package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgramsInChecksBoth(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("sandboxfs", 0o755)
	if _, err := programsIn(dir); err == nil || !strings.Contains(err.Error(), "sandboxfsd") {
		t.Errorf("with one of the programs: %v, want an error that names the other", err)
	}
	write("sandboxfsd", 0o755)
	p, err := programsIn(dir)
	if err != nil || p.Dir != dir || p.Sandboxfsd != filepath.Join(dir, "sandboxfsd") {
		t.Errorf("programsIn = %+v, %v", p, err)
	}
}

func TestBinDirRefusesAnothersDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := binDir("/some/checkout")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := binDir("/some/checkout"); err != nil || again != dir {
		t.Errorf("a second time: %q, %v, want %q", again, err, dir)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := binDir("/some/checkout"); err == nil {
		t.Error("a directory that everybody can write was accepted")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := binDir("/some/checkout"); err == nil {
		t.Error("a symlink was accepted")
	}
}

func TestModuleRoot(t *testing.T) {
	root, err := ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "internal", "testenv", "doc.go")); err != nil {
		t.Errorf("ModuleRoot = %s: %v", root, err)
	}
}
