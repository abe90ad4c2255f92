package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childName is the name under which this program is executed again.
const childName = "sandboxfs-doctor"

// IsChild reports whether this process was started by [Run] to make checks.
// The program's main then does nothing but call [ChildMain].
func IsChild() bool { return len(os.Args) > 1 && os.Args[0] == childName }

// ChildMain makes the checks that [Run] asked for and returns the exit status.
func ChildMain() int {
	if os.Args[1] != "checks" {
		return probeMain(os.Args[1:])
	}
	var m machine
	if err := json.NewDecoder(os.Stdin).Decode(&m); err != nil || len(os.Args) < 3 {
		return 2
	}
	first, err := strconv.Atoi(os.Args[2])
	if err != nil || first < 0 {
		return 2
	}
	out := json.NewEncoder(os.Stdout)
	for i, c := range checks() {
		if i < first {
			continue
		}
		if err := out.Encode(c.look(&m)); err != nil {
			return 1 // nobody listens any more
		}
	}
	return 0
}

// child is a process that makes checks.
type child struct {
	process  *os.Process
	findings chan Finding // closed when there are no more
	err      error        // it could not be started
}

// startChild starts a child that makes the checks from a number on.
func startChild(ctx context.Context, m machine, first int) *child {
	c := &child{findings: make(chan Finding)}
	r, err := c.start(m, first)
	if err != nil {
		c.err = err
		return c
	}
	go func() {
		defer close(c.findings)
		defer r.Close()
		for in := json.NewDecoder(r); ; {
			var f Finding
			if in.Decode(&f) != nil {
				return
			}
			select {
			case c.findings <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	return c
}

func (c *child) start(m machine, first int) (io.ReadCloser, error) {
	spec, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	in, inW, err := os.Pipe()
	if err != nil {
		r.Close()
		return nil, err
	}
	defer in.Close()
	defer inW.Close()
	cmd := again("checks", strconv.Itoa(first))
	cmd.Stdin, cmd.Stdout = in, w
	if err := cmd.Start(); err != nil {
		r.Close()
		return nil, err
	}
	// One that blocks beyond the reach of SIGKILL is waited for by nobody.
	go cmd.Wait()
	c.process = cmd.Process
	_, err = inW.Write(spec) // shorter than a pipe holds
	return r, err
}

// again is this program, as a child. It ends with its maker's process; not
// with the maker's thread, which would be too early.
func again(args ...string) *osexec.Cmd {
	cmd := osexec.Command("/proc/self/exe")
	cmd.Args = append([]string{childName}, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// next waits for the next finding.
func (c *child) next(ctx context.Context, deadline time.Duration) (Finding, error) {
	if c.err != nil {
		return Finding{}, fmt.Errorf("the check could not be started: %w", c.err)
	}
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case f, ok := <-c.findings:
		if !ok {
			return Finding{}, errors.New("the check ended without an answer")
		}
		return f, nil
	case <-timer.C:
		return Finding{}, fmt.Errorf("the check did not end within %v: something that it looks at hangs", deadline)
	case <-ctx.Done():
		return Finding{}, ctx.Err()
	}
}

func (c *child) end() {
	if c.process != nil {
		_ = c.process.Kill()
	}
}

// answer is what a probe says: the call that failed, if one did.
type answer struct {
	Op    string        `json:"op,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
	Text  string        `json:"text,omitempty"`
}

func (a answer) ok() bool { return a.Op == "" }

func (a answer) err() error {
	if a.Errno != 0 {
		return a.Errno
	}
	return errors.New(a.Text)
}

// failedProbe is an answer about an error.
func failedProbe(op string, err error) answer {
	a := answer{Op: op, Text: err.Error()}
	errors.As(err, &a.Errno)
	return a
}

// probeDeadline ends a probe, so that the check around it says more than that
// it did not end.
const probeDeadline = 2 * time.Second

// ask runs a probe in a process of its own, which may live in new namespaces
// and whose end undoes all that it did. startOp names the call that fails where
// the process cannot be had.
func ask(startOp string, attr *syscall.SysProcAttr, start func(*osexec.Cmd) error, args ...string) answer {
	// The parent-death signal is sent when the forking thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Pdeathsig = unix.SIGKILL
	var out bytes.Buffer
	cmd := again(args...)
	cmd.SysProcAttr, cmd.Stdout, cmd.WaitDelay = attr, &out, time.Second
	if start == nil {
		start = (*osexec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		return failedProbe(startOp, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		var a answer
		if jsonErr := json.Unmarshal(out.Bytes(), &a); jsonErr != nil {
			return answer{Op: "wait for the probe", Text: fmt.Sprintf("it ended without an answer (%v)", err)}
		}
		return a
	case <-time.After(probeDeadline):
		// It may block beyond the reach of SIGKILL; nobody waits for it then.
		_ = cmd.Process.Kill()
		return answer{Op: "wait for the probe", Text: fmt.Sprintf("it did not end within %v", probeDeadline)}
	}
}
