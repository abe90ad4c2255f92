package script

import (
	"embed"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

//go:embed testdata/*.txtar
var scripts embed.FS

// TestScripts runs the scripts as whoever runs the tests.
func TestScripts(t *testing.T) {
	testenv.RequireFUSE(t)
	run(t)
}

// TestScriptsAsUser runs them, where the caller is root, as an ordinary user.
func TestScriptsAsUser(t *testing.T) {
	if testenv.AsUser(t) {
		return
	}
	testenv.RequireFUSE(t)
	run(t)
}

func run(t *testing.T) {
	programs := testenv.Binaries(t)
	testscript.Run(t, testscript.Params{
		Dir:                 unpack(t),
		RequireExplicitExec: true,
		Setup:               func(env *testscript.Env) error { return setup(env, programs) },
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rc":    cmdStatus,
			"until": cmdUntil,
			"json":  cmdJSON,
			"tty":   cmdTTY,
		},
	})
}

// unpack writes the scripts where whoever runs the test can read them: the
// checkout may be closed to an ordinary user.
func unpack(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := scripts.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := scripts.ReadFile("testdata/" + e.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// setup gives a script its own directories, with a skill in them, and ends
// its sandboxes.
func setup(env *testscript.Env, programs testenv.Programs) error {
	home, runtimeDir := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, "run")
	skill := filepath.Join(home, "skills", "pub")
	if err := os.MkdirAll(skill, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("a skill\n"), 0o644); err != nil {
		return err
	}
	env.Setenv("PATH", programs.Dir+":"+env.Getenv("PATH"))
	env.Setenv("SANDBOXFS_BIN_DIR", programs.Dir)
	env.Setenv("SANDBOXFS_HOME", home)
	env.Setenv("SANDBOXFS_RUNTIME_DIR", runtimeDir)
	env.Setenv("DATA", filepath.Join(home, "users", "default", "threads"))
	env.Defer(func() { tearDown(env, programs) })
	return nil
}

// tearDown ends what the script left and demands that nothing is left then.
// A script may have used a second data directory, home2.
func tearDown(env *testscript.Env, programs testenv.Programs) {
	t := env.T()
	for _, home := range []string{"home", "home2"} {
		for _, args := range [][]string{{"umount", "--all", "--lazy"}, {"stop", "--all"}, {"gc", "--json"}} {
			cmd := osexec.Command(programs.Sandboxfs, args...)
			cmd.Env = append(env.Vars[:len(env.Vars):len(env.Vars)], "SANDBOXFS_HOME="+filepath.Join(env.WorkDir, home))
			cmd.WaitDelay = time.Minute
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Log(string(out))
				t.Fatal("at the end,", args, "failed:", err)
			}
			if args[0] == "gc" && len(out) > 0 {
				t.Fatal("at the end, gc found: " + string(out))
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(env.Getenv("SANDBOXFS_RUNTIME_DIR"), "*-*")); err != nil || len(left) > 0 {
		t.Fatal("at the end, in the runtime directory:", left, err)
	}
}

func condition(name string) (bool, error) {
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, os.ErrInvalid
}
