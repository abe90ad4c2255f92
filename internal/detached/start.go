package detached

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"syscall"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Process is what to start.
type Process struct {
	// Program is the path of sandboxfsd, Verb its argument.
	Program, Verb string
	// Spec is sent as JSON.
	Spec any
	// Log takes standard output and standard error.
	Log *os.File
	// Lock is inherited: an flock on it is held until both processes have
	// closed it. It stays the caller's.
	Lock *os.File
	// What names the process in errors: "the mount's server".
	What string
}

// report is what a process says of its start.
type report struct {
	Kind   provider.Kind `json:"kind,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Next   string        `json:"next,omitempty"`
}

// The descriptors that a process is started with.
const (
	reportFD = 3
	lockFD   = 4
)

// ErrEnded is in the chain of the error of a process that ended without a word.
var ErrEnded = errors.New("the process ended while it started")

// Start starts the process and returns its pid when it says that it is ready.
// Where ctx ends first the process is killed. The error is a
// [*provider.Error]: what the process reported, or of kind timeout or
// unavailable.
func Start(ctx context.Context, p Process) (pid int, err error) {
	body, err := json.Marshal(p.Spec)
	if err != nil {
		return 0, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	cmd := osexec.Command(p.Program, p.Verb)
	// Its start is one step after the other: more threads would only cost time,
	// and afterwards it serves a tree, which goes by one as well.
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOMAXPROCS=1"}
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(body)
	cmd.Stdout, cmd.Stderr = p.Log, p.Log
	cmd.ExtraFiles = []*os.File{w, p.Lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return 0, &provider.Error{Kind: provider.Unavailable, Reason: "sandboxfsd cannot be started: " + errText(err),
			Next: "set SANDBOXFSD to the path of an executable sandboxfsd", Err: err}
	}
	// The process lives on; this goroutine only reaps it should it end while
	// the caller still lives.
	go cmd.Wait()

	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	var rep report
	err = json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&rep)
	switch {
	case ctx.Err() != nil:
		return 0, &provider.Error{Kind: provider.Timeout, Reason: p.What + " was not ready in time", Err: context.Cause(ctx)}
	case err != nil:
		return 0, &provider.Error{Kind: provider.Unavailable, Reason: p.What + " ended while it started", Err: ErrEnded}
	case rep.Kind != "":
		return 0, &provider.Error{Kind: rep.Kind, Reason: rep.Reason, Next: rep.Next}
	}
	return cmd.Process.Pid, nil
}

// errText leaves out the path that os/exec puts before the cause.
func errText(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
