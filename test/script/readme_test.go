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

// TestREADME runs the tour of the README line by line, as it stands. A line
// whose comment quotes an error must fail with it; every other must succeed.
func TestREADME(t *testing.T) {
	testenv.RequireFUSE(t)
	lines := tour(t)
	if len(lines) < 8 {
		t.Fatalf("the README's tour has %d commands; was it found?", len(lines))
	}
	base := t.TempDir()
	env := append(os.Environ(), "PATH="+testenv.Binaries(t).Dir+":"+os.Getenv("PATH"), "HOME="+base,
		"SANDBOXFS_HOME="+filepath.Join(base, "data"), "SANDBOXFS_RUNTIME_DIR="+filepath.Join(base, "run"))
	for _, line := range lines {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := osexec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = base, env
		out, err := cmd.CombinedOutput()
		command, comment, quotes := strings.Cut(line, "# ")
		switch {
		case quotes && (err == nil || !strings.Contains(string(out), strings.TrimSpace(comment))):
			t.Errorf("%s\nwant a failure that says %q, got %v\n%s", command, comment, err, out)
		case !quotes && err != nil:
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// tour returns the indented lines of the README's tour, but for those that
// build.
func tour(t *testing.T) []string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## A short tour")
	section, _, _ = strings.Cut(section, "\n## ")
	var lines []string
	for _, line := range strings.Split(section, "\n") {
		if command, ok := strings.CutPrefix(line, "    "); ok && !strings.HasPrefix(command, "make ") {
			lines = append(lines, command)
		}
	}
	return lines
}
