package script

import (
	"bytes"
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// swapper is what the agent runs: as long as the file "go" is there it swaps a
// directory, a file and a directory's parent for symlinks that lead to $OUT.
const swapper = `mkdir -p d p/q; echo mine >f; : >up
while [ -e go ]; do
	mv d d2; ln -s "$OUT" d; rm f; ln -s "$OUT/secret" f; mv p p2; ln -s "$OUT" p
	rm d; mv d2 d; rm f; echo mine >f; rm p; mv p2 p
done`

// TestCopyWhileTheAgentSwaps copies both ways while a command of the thread
// swaps what is copied for symlinks to files of the host. Nothing of the host
// may come out, and nothing there may change.
func TestCopyWhileTheAgentSwaps(t *testing.T) {
	testenv.RequireFUSE(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	base := t.TempDir()
	outside, out := filepath.Join(base, "outside"), filepath.Join(base, "out")
	secret := []byte("the host's own\n")
	for _, dir := range []string{outside, filepath.Join(outside, "q"), out} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{"secret", "q/secret"} {
		must(t, os.WriteFile(filepath.Join(outside, name), secret, 0o644))
	}
	must(t, os.WriteFile(filepath.Join(base, "in"), []byte("in\n"), 0o644))
	before := census(t, outside)
	program := testenv.Binaries(t).Sandboxfs
	run := func(args ...string) error {
		cmd := osexec.CommandContext(ctx, program, args...)
		cmd.Dir = base
		cmd.Env = append(os.Environ(), "SANDBOXFS_HOME="+filepath.Join(base, "data"), "SANDBOXFS_RUNTIME_DIR="+filepath.Join(base, "run"))
		return cmd.Run()
	}
	defer run("stop", "--all")
	must(t, run("exec", "t", "--", "touch", "go"))
	agent := make(chan error, 1)
	go func() { agent <- run("exec", "-e", "OUT="+outside, "--timeout", "2m", "t", "--", "sh", "-c", swapper) }()
	workspace := filepath.Join(base, "data/users/default/threads/t/user-data/workspace")
	testenv.Poll(t, 20*time.Second, "the agent to begin", func() bool {
		_, err := os.Lstat(filepath.Join(workspace, "up"))
		return err == nil
	})
	copies, failures := 0, 0
	for range 40 {
		for _, args := range [][]string{
			{"t:workspace/d/.", "out/d"}, {"t:workspace/f", "out/f"}, {"t:workspace/p/q", "out/q"}, {"t:workspace", "out/all"},
			{"t:workspace/d/secret", "out/s1"}, {"t:workspace/p/q/secret", "out/s2"},
			{"in", "t:workspace/d/new"}, {"in", "t:workspace/f"}, {"in", "t:workspace/p/q/new"}, {"in", "t:workspace/p/secret"},
		} {
			copies++
			if run(append([]string{"cp"}, args...)...) != nil {
				failures++ // of a name that is not there, or a symlink, as it must
			}
		}
		if found := census(t, out); bytes.Contains([]byte(found), bytes.TrimSpace(secret)) {
			t.Fatalf("a file of the host came out:\n%s", found)
		}
	}
	must(t, os.Remove(filepath.Join(workspace, "go")))
	if err := <-agent; err != nil {
		t.Error("the agent:", err)
	}
	if after := census(t, outside); after != before {
		t.Errorf("the host's files changed; before:\n%safter:\n%s", before, after)
	}
	t.Logf("%d of %d copies met a symlink or nothing", failures, copies)
	if failures == copies {
		t.Error("no copy ever succeeded")
	}
}

// census is the names below a directory, with the content of files; a symlink
// is its text.
func census(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(path + " " + d.Type().String() + "\n")
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.Write(content)
		}
		return nil
	})
	must(t, err)
	return b.String()
}
