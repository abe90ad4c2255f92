package fault

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

var (
	rounds = flag.Int("fault.rounds", 10, "times that each process is killed")
	seed   = flag.Uint64("fault.seed", 0, "what random moments are made from; 0 for another each time")
)

// deadline bounds every single command line.
const deadline = time.Minute

// world is a data and a runtime directory of a test's own, and copies of the
// programs, by which the kernel tells its processes from everybody else's.
type world struct {
	home, run  string
	cli        string
	daemon     string
	random     *rand.Rand
	mountsHere string
}

func newWorld(t *testing.T, home string) *world {
	t.Helper()
	testenv.RequireFUSE(t)
	programs := testenv.Binaries(t)
	dir := t.TempDir()
	w := &world{home: home, run: filepath.Join(dir, "run"), mountsHere: mountinfo(t)}
	if home == "" {
		w.home = filepath.Join(dir, "home")
	}
	w.cli, w.daemon = filepath.Join(dir, "sandboxfs"), filepath.Join(dir, "sandboxfsd")
	testenv.CopyProgram(t, programs.Sandboxfs, w.cli)
	testenv.CopyProgram(t, programs.Sandboxfsd, w.daemon)
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-fault.seed=%d", s)
	w.random = rand.New(rand.NewPCG(s, 0))
	t.Cleanup(func() { w.end(t) })
	return w
}

// end stops all and holds that nothing is left: no process, no mount, no
// directory, no cgroup.
func (w *world) end(t *testing.T) {
	t.Helper()
	w.do(t, 0, "stop", "--all")
	w.expectClean(t)
}

// expectClean holds where every sandbox was stopped.
func (w *world) expectClean(t *testing.T) {
	t.Helper()
	if got := w.do(t, 0, "gc", "--json"); got != "" {
		t.Errorf("gc found something: %s", got)
	}
	w.expectNoneOfUs(t)
}

// expectNoneOfUs looks for what the kernel knows of ended sandboxes.
func (w *world) expectNoneOfUs(t *testing.T) {
	t.Helper()
	testenv.Poll(t, 10*time.Second, "the last process of ours to end", func() bool { return len(w.ours(t)) == 0 })
	names := map[string]bool{}
	for _, name := range w.runtimeDirs(t) {
		names[name] = true
		t.Errorf("in the runtime directory: %s", name)
	}
	for line := range strings.Lines(mountinfo(t)) {
		if strings.Contains(line, "fuse.sandboxfs") && !strings.Contains(w.mountsHere, line) && !w.foreign(line) {
			t.Errorf("a mount is left: %s", line)
		}
	}
}

// foreign reports whether a line of the mount table is of another test, which
// runs at the same time.
func (w *world) foreign(line string) bool {
	f := strings.Fields(line)
	test := filepath.Dir(filepath.Dir(w.run)) // the parent of its temporary directories
	return len(f) > 4 && strings.HasPrefix(f[4], os.TempDir()+"/") && !strings.HasPrefix(f[4], test+"/")
}

func (w *world) runtimeDirs(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(w.run, "*-*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func mountinfo(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ours are the processes of this world's sandboxes that run our program.
func (w *world) ours(t *testing.T) []hostview.Process {
	t.Helper()
	all, err := hostview.Running(w.daemon)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// command makes a command line of the program under test.
func (w *world) command(ctx context.Context, args ...string) *osexec.Cmd {
	cmd := osexec.CommandContext(ctx, w.cli, args...)
	cmd.Env = append(os.Environ(), "SANDBOXFS_HOME="+w.home, "SANDBOXFS_RUNTIME_DIR="+w.run, "SANDBOXFSD="+w.daemon)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// do runs a command line to its end, demands its status, and returns what it
// printed, of both streams, without space around it.
func (w *world) do(t *testing.T, want int, args ...string) string {
	t.Helper()
	code, out := w.try(t, args...)
	if code != want {
		t.Fatalf("%q: want status %d, got %d\n%s", args, want, code, out)
	}
	return out
}

// try runs a command line to its end.
func (w *world) try(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := w.command(ctx, args...)
	both, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%q did not end within %v\n%s", args, deadline, both)
	}
	var exit *osexec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(string(both))
}

// sh runs a script in a thread and demands success.
func (w *world) sh(t *testing.T, thread, script string) string {
	t.Helper()
	return w.do(t, 0, "exec", thread, "--", "bash", "-c", script)
}

// started is a command line that runs beside the test.
type started struct {
	cmd    *osexec.Cmd
	out    *bytes.Buffer
	ended  chan struct{}
	cancel context.CancelFunc
}

// start begins a command line. It is ended with the test at the latest.
func (w *world) start(t *testing.T, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	s := &started{cmd: w.command(ctx, args...), out: &bytes.Buffer{}, ended: make(chan struct{}), cancel: cancel}
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // its state is in ProcessState
		close(s.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-s.ended
	})
	return s
}

// wait returns the exit status, -1 after a signal.
func (s *started) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(deadline):
		t.Fatalf("%q did not end within %v", s.cmd.Args, deadline)
		return 0
	}
}

func (s *started) running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// pause waits for a random time, so that what follows comes at any moment of
// what runs beside it.
func (w *world) pause(most time.Duration) {
	time.Sleep(time.Duration(w.random.Int64N(int64(most)))) // no event: any moment is meant
}
