package posixsuite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// envRole tells this program, run again, what part of a test it is.
const envRole = "SANDBOXFS_POSIX_ROLE"

// Main plays the part of another process in a test, if this process was
// started for that, and reports whether it was. A TestMain calls it first and
// returns when it says so.
func Main() bool {
	text := os.Getenv(envRole)
	if text == "" {
		return false
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	switch {
	case err != nil:
	case r.Exercise != nil:
		err = r.Exercise.run()
	default:
		err = serveLocks(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// role is what another process of a test does.
type role struct {
	Exercise *exercise // nil: it locks as it is told
}

// deadline bounds every other process and program of a test.
func deadline() time.Duration { return time.Duration(testenv.Soak(2, 8)) * time.Minute }

// process is another process of a test.
type process struct {
	cmd    *osexec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *strings.Builder
	timer  *time.Timer
}

// start starts a process in a role.
func start(t testing.TB, r role) *process {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: osexec.Command("/proc/self/exe"), errors: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), envRole+"="+string(text))
	p.cmd.Stderr = p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.timer = time.AfterFunc(deadline(), func() { p.cmd.Process.Kill() })
	t.Cleanup(func() { p.wait() })
	return p
}

// ask sends a line and returns the answer.
func (p *process) ask(t testing.TB, line string) string {
	t.Helper()
	fmt.Fprintln(p.in, line)
	return p.answer(t)
}

func (p *process) answer(t testing.TB) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("another process of the test: %v, %s", err, p.errors)
	}
	return strings.TrimSpace(line)
}

// wait ends a process and returns what it says about its failure.
func (p *process) wait() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	p.in.Close()
	err := p.cmd.Wait()
	p.timer.Stop()
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.errors)
	}
	return nil
}

// kill ends a process without a chance to clear up.
func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	p.wait()
}
