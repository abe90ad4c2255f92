package escape

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

const (
	// storeBytes and storeInodes size the file system that the threads'
	// directories lie on: bombs are real.
	storeBytes  = 256 << 20
	storeInodes = 8000
	// maxOutput is what the cases are run with.
	maxOutput = 1000000
	// otherThread holds what no other thread may see.
	otherThread = "neighbour"
	// uploadContent is the one file that a workspace begins with.
	uploadContent = "a\n"
	skillText     = "SKILL-ORIGINAL"
)

// world is the host around the sandboxes of one user: what the cases call
// canaries, a data directory on a small store, and a neighbour.
type world struct {
	programs testenv.Programs
	// user is nil for root itself.
	user *testenv.User
	// home and run are the data and the runtime directory.
	home, run string
	// canaryFile, writeDir and tmpCanary lie on the host, open to everybody.
	canaryFile, writeDir, tmpCanary string
	// helper is a copy of this test program that the user can execute.
	helper string
	// inherited is open as descriptor 9 in every program started.
	inherited *os.File
	skillsSum [sha256.Size]byte
}

// newWorld sets all of it up. With root as the caller the store is of limited
// size; else it is a plain directory and the bombs are left out.
func newWorld(t *testing.T, u *testenv.User) *world {
	t.Helper()
	w := &world{programs: testenv.Binaries(t), user: u}
	store, public := w.store(t), w.publicDir(t)
	w.home, w.run = filepath.Join(store, "home"), filepath.Join(public, "run")
	w.writeDir = filepath.Join(public, "writable")
	for dir, mode := range map[string]os.FileMode{w.home: 0o755, w.run: 0o700, w.writeDir: 0o777} {
		w.makeDir(t, dir, mode)
	}
	w.makeDir(t, filepath.Join(w.home, "skills"), 0o755)
	w.makeDir(t, filepath.Join(w.home, "skills", "pub"), 0o755)
	w.makeDir(t, filepath.Join(w.home, "skills", "pub", "empty"), 0o755)
	w.write(t, filepath.Join(w.home, "skills", "pub", "SKILL.md"), skillText+"\n")

	w.canaryFile, w.tmpCanary = filepath.Join(public, "canary"), filepath.Join(public, "tmp-canary")
	w.write(t, w.canaryFile, "CANARY-"+rand.Text()+"\n")
	w.write(t, w.tmpCanary, "CANARY-"+rand.Text()+"\n")
	w.helper = filepath.Join(public, "helper")
	testenv.CopyProgram(t, "/proc/self/exe", w.helper)

	var err error
	if w.inherited, err = os.Open(w.canaryFile); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.inherited.Close() })
	w.skillsSum = w.sumSkills(t)
	listenAbstract(t)
	w.startNeighbour(t)
	return w
}

func (w *world) store(t *testing.T) string {
	if os.Geteuid() == 0 {
		return testenv.SmallStore(t, storeBytes, storeInodes)
	}
	return t.TempDir()
}

// limited reports whether a bomb stays on a store of its own.
func (w *world) limited() bool { return os.Geteuid() == 0 }

// publicDir is not t.TempDir, which is closed to other users.
func (w *world) publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sbfs-escape-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("the world's directory stays: %v", err)
		}
	})
	return dir
}

func (w *world) makeDir(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	err := errors.Join(os.MkdirAll(dir, mode), os.Chmod(dir, mode), w.own(dir))
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) write(t *testing.T, name, content string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(name, []byte(content), 0o644), w.own(name)); err != nil {
		t.Fatal(err)
	}
}

// own gives a path to the user whose sandboxes are tested.
func (w *world) own(name string) error {
	if w.user == nil {
		return nil
	}
	return os.Lchown(name, w.user.UID, w.user.GID)
}

// listenAbstract listens on the abstract socket that the cases try to reach.
// A socket of another run will do as well.
func listenAbstract(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", "@iso-canary")
	if err != nil {
		t.Logf("the abstract socket is another run's: %v", err)
		return
	}
	t.Cleanup(func() { _ = l.Close() })
}

// backing is a thread's host directory.
func (w *world) backing(thread string) string {
	return filepath.Join(w.home, "users", "default", "threads", thread)
}

func (w *world) workspace(thread string) string {
	return filepath.Join(w.backing(thread), "user-data", "workspace")
}

// sumSkills is a digest of names, modes and contents of the skills tree.
func (w *world) sumSkills(t *testing.T) [sha256.Size]byte {
	t.Helper()
	h := sha256.New()
	root := filepath.Join(w.home, "skills")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%v\x00%d\x00", strings.TrimPrefix(name, root), info.Mode(), info.Size())
		if d.IsDir() {
			return nil
		}
		fmt.Fprintf(h, "%v\x00", info.ModTime())
		content, err := os.ReadFile(name)
		h.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// command makes a program's command line run as the user of this world, with
// the secrets that must not arrive inside.
func (w *world) command(ctx context.Context, argv ...string) *osexec.Cmd {
	var cmd *osexec.Cmd
	if w.user != nil {
		cmd = w.user.Command(ctx, argv...)
	} else {
		cmd = osexec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = os.Environ()
		cmd.WaitDelay = 2 * time.Second
	}
	cmd.Env = append(cmd.Env,
		"SANDBOXFS_HOME="+w.home, "SANDBOXFS_RUNTIME_DIR="+w.run, "SANDBOXFSD="+w.programs.Sandboxfsd,
		"HOST_SECRET=CANARY-"+rand.Text(), "AWS_SECRET_ACCESS_KEY=CANARY-"+rand.Text())
	// The file is descriptor 9, and nothing lies between.
	cmd.ExtraFiles = make([]*os.File, 7)
	cmd.ExtraFiles[9-3] = w.inherited
	return cmd
}

// cli runs the command line to its end.
func (w *world) cli(ctx context.Context, stdin io.Reader, args ...string) (Outcome, error) {
	return outcome(w.command(ctx, append([]string{w.programs.Sandboxfs}, args...)...), stdin)
}

// outcome runs a command to its end. An error means that it could not be run.
func outcome(cmd *osexec.Cmd, stdin io.Reader) (Outcome, error) {
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errOut
	began := time.Now()
	err := cmd.Run()
	o := Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: out.Bytes(), Stderr: errOut.Bytes(), Took: time.Since(began)}
	var exit *osexec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	return o, err
}

// exec runs a script in a thread.
func (w *world) exec(ctx context.Context, thread, script string, flags ...string) (Outcome, error) {
	args := append([]string{"exec", "--net", "none", "--max-output", fmt.Sprint(maxOutput)}, flags...)
	return w.cli(ctx, nil, append(args, thread, "--", "bash", "-c", script)...)
}

// must runs a script that has to succeed.
func (w *world) must(t *testing.T, thread, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o, err := w.exec(ctx, thread, script)
	if err != nil || o.Code != 0 {
		t.Fatalf("%s: %q ended with status %d: %v\n%s", thread, script, o.Code, err, o.Combined())
	}
	return strings.TrimSpace(string(o.Stdout))
}

// startNeighbour puts a secret into another thread and a process that has to
// live on.
func (w *world) startNeighbour(t *testing.T) {
	t.Helper()
	w.must(t, otherThread, "echo CANARY-OTHER >secret")
	ctx, cancel := context.WithCancel(context.Background())
	cmd := w.command(ctx, w.programs.Sandboxfs, "exec", "--net", "none", "--timeout", "1h", otherThread, "--", "sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop(t, otherThread)
		cancel()
		_ = cmd.Wait() // its sandbox was ended under it
		w.expectNothingLeft(t)
	})
	testenv.Poll(t, 20*time.Second, "the neighbour's process", func() bool { return w.neighbourSleeps(t) })
}

func (w *world) neighbourSleeps(t *testing.T) bool {
	ns := w.must(t, otherThread, "readlink /proc/self/ns/uts")
	for _, p := range hostview.InUTS(ns) {
		if p.Name == "sleep" {
			return true
		}
	}
	return false
}

func (w *world) stop(t *testing.T, thread string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if o, err := w.cli(ctx, nil, "stop", thread); err != nil || o.Code != 0 {
		t.Errorf("stop %s: status %d, %v\n%s", thread, o.Code, err, o.Combined())
	}
}

// expectNothingLeft holds when every sandbox was stopped.
func (w *world) expectNothingLeft(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if o, err := w.cli(ctx, nil, "gc", "--json"); err != nil || o.Code != 0 || len(bytes.TrimSpace(o.Stdout)) > 0 {
		t.Errorf("gc found something after the end: status %d, %v\n%s", o.Code, err, o.Combined())
	}
}
