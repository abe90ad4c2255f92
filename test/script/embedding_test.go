package script

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// TestAnotherModuleEmbeds has a module of somebody else's build the examples
// and run the suites.
func TestAnotherModuleEmbeds(t *testing.T) {
	testenv.RequireFUSE(t)
	const module = "github.com/sandboxfs/sandboxfs"
	programs := testenv.Binaries(t)
	root, err := testenv.ModuleRoot()
	must(t, err)
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, name))
		must(t, err)
		return string(text)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	// Its requirements are ours and ourselves, as they are here.
	requirements := strings.Replace(read("go.mod"), "module "+module, "module example.org/embeds", 1)
	write("go.mod", requirements+"\nrequire "+module+" v0.0.0\nreplace "+module+" => "+root+"\n")
	write("go.sum", read("go.sum"))
	for _, name := range []string{"run/main.go", "recorder/recorder.go", "recorder/recorder_test.go"} {
		write(name, strings.ReplaceAll(read("examples/"+name), module+"/examples/", "example.org/embeds/"))
	}
	write("recorder/programs_test.go", "package recorder_test\n\nimport \"testing\"\n\nfunc needPrograms(*testing.T) {}\n")

	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"build", "-o", os.DevNull, "./run"},
		{"test", "-count=1", "-timeout=3m", "-run=/^(AcquireTwice|AnotherProgram|Results|Live|Read|Write)$", "./recorder"},
	} {
		cmd := osexec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "SANDBOXFSD="+programs.Sandboxfsd)
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no tests to run") {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
