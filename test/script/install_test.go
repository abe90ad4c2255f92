package script

import (
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// TestInstall installs into a directory of its own, and takes all of it away.
func TestInstall(t *testing.T) {
	testenv.RequireProgram(t, "make", "make")
	root, err := testenv.ModuleRoot()
	must(t, err)
	dest := filepath.Join(t.TempDir(), "a place")
	must(t, os.Mkdir(dest, 0o755))
	run := func(target string) {
		t.Helper()
		cmd := osexec.CommandContext(t.Context(), "make", "-s", target, "DESTDIR="+dest, "PREFIX=/opt/there", "BIN="+t.TempDir())
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	files := func() (names []string) {
		t.Helper()
		must(t, filepath.WalkDir(dest, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, strings.TrimPrefix(path, dest+"/opt/there/"))
			}
			return err
		}))
		return names
	}
	run("install")
	got := files()
	for _, want := range []string{"bin/sandboxfs", "bin/sandboxfsd"} {
		info, err := os.Stat(filepath.Join(dest, "opt/there", want))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, installed are %v", want, err, got)
		}
	}
	for _, want := range []string{"bash-completion/completions/sandboxfs", "zsh/site-functions/_sandboxfs", "fish/vendor_completions.d/sandboxfs.fish"} {
		if !slices.Contains(got, "share/"+want) {
			t.Errorf("no completion at share/%s, installed are %v", want, got)
		}
	}
	// The installed pair finds each other, wherever it lies.
	cmd := osexec.CommandContext(t.Context(), filepath.Join(dest, "opt/there/bin/sandboxfs"), "doctor", "--json")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SANDBOXFSD=") }),
		"PATH=/usr/bin:/bin", "SANDBOXFS_HOME="+t.TempDir()+"/home", "SANDBOXFS_RUNTIME_DIR="+t.TempDir()+"/run")
	out, _ := cmd.CombinedOutput() // the machine may lack something else
	if !strings.Contains(string(out), `"check":"sandboxfsd","status":"ok","detail":"`+dest+`/opt/there/bin/sandboxfsd, version`) {
		t.Errorf("the installed program does not find the other one:\n%s", out)
	}
	run("install") // over a present one
	run("uninstall")
	if left := files(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
