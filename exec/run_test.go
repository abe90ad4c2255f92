package exec

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// deadline bounds every command of the tests.
const deadline = 20 * time.Second

var testEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8"}

// outcome is what a command did.
type outcome struct {
	Status
	stdout, stderr string
}

func script(text string) Command {
	return Command{Argv: []string{"bash", "--norc", "--noprofile", "-c", text}, Dir: "/tmp", Env: testEnv}
}

// collect reads both streams to their ends and waits.
func collect(t testing.TB, p *Process) outcome {
	t.Helper()
	stop := time.AfterFunc(deadline, func() {
		t.Errorf("command still runs after %v", deadline)
		p.Kill()
	})
	defer stop.Stop()
	var o outcome
	errs := make(chan string, 1)
	go func() {
		var b []byte
		if p.Stderr != nil {
			b, _ = io.ReadAll(p.Stderr)
			p.Stderr.Close()
		}
		errs <- string(b)
	}()
	b, err := io.ReadAll(p.Stdout)
	if err != nil {
		t.Errorf("read stdout: %v", err)
	}
	p.Stdout.Close()
	o.stdout, o.stderr = string(b), <-errs
	o.Status, err = p.Wait()
	if err != nil {
		t.Errorf("wait: %v", err)
	}
	return o
}

func run(t testing.TB, e *Executor, c Command) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	p, err := e.Start(ctx, c)
	if err != nil {
		t.Fatalf("start %q: %v", c.Argv, err)
	}
	return collect(t, p)
}

func TestSandboxRun(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct {
		name, script   string
		stdout, stderr string
		status         Status
	}{
		{"output", "echo out; echo err >&2", "out\n", "err\n", Status{}},
		{"exit code", "exit 42", "", "", Status{ExitCode: 42}},
		{"modulo 256", "exit 300", "", "", Status{ExitCode: 44}},
		{"killed", "kill -9 $$", "", "", Status{ExitCode: 137, Signal: 9}},
		{"terminated", "kill -TERM $$", "", "", Status{ExitCode: 143, Signal: 15}},
		{"stdin is empty", "cat; echo rc=$?", "rc=0\n", "", Status{}},
		{"directory", "pwd; echo $PWD", "/tmp\n/tmp\n", "", Status{}},
		{"left running", "sleep 600 >/dev/null & echo x", "x\n", "", Status{LeftRunning: 1}},
		{"left running with the pipe", "setsid sleep 600 & sleep 0.05; echo x", "x\n", "", Status{LeftRunning: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := run(t, e, script(tt.script))
			o.Duration = 0
			if want := (outcome{tt.status, tt.stdout, tt.stderr}); o != want {
				t.Errorf("%s\nwant %+v\n got %+v", tt.script, want, o)
			}
		})
	}
	if n := e.Running(); n != 0 {
		t.Errorf("%d running", n)
	}
	t.Log(e.Mechanism(), e.Isolation())
}

func TestSandboxLongScript(t *testing.T) {
	e := executor(t)
	long := "x='" + strings.Repeat("a", 400<<10) + "'\necho ${#x} $0 $1\nls /proc/self/fd | tr '\\n' ' '"
	c := script(long)
	c.Argv = append(c.Argv, "zero", "one")
	if o := run(t, e, c); o.stdout != "409600 zero one\n0 1 2 3 " {
		t.Errorf("%q %q", o.stdout, o.stderr)
	}
	for _, sh := range []string{"sh", "dash"} {
		c.Argv = []string{sh, "-ec", long, "zero", "one"}
		if o := run(t, e, c); o.stdout != "409600 zero one\n0 1 2 3 " {
			t.Errorf("%s: %q %q", sh, o.stdout, o.stderr)
		}
	}
}
