package guest

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/exec/shell"
	"github.com/sandboxfs/sandboxfs/provider"
)

// opExecute names the operation in errors about commands.
const opExecute = "execute"

// prepare checks a command as it came over the wire and completes it. Kind:
// invalid.
func (s *server) prepare(c provider.Command, stdin bool) (exec.Command, error) {
	if err := c.Validate(); err != nil {
		return exec.Command{}, err
	}
	if c.TTY != nil && strings.ContainsRune(c.TTY.Term, 0) {
		return exec.Command{}, &provider.Error{Kind: provider.Invalid, Op: opExecute, Reason: "the terminal's name holds a NUL byte"}
	}
	x := exec.Command{Argv: c.Argv, Dir: c.Dir, Env: s.base.of(c)}
	if c.Script != "" {
		x.Argv = s.base.script(c.Script)
	}
	if x.Dir == "" {
		x.Dir = s.defaultDir()
	}
	if stdin {
		x.Stdin = exec.StdinPipe
	}
	if c.TTY != nil {
		x.TTY = &exec.Size{Rows: c.TTY.Rows, Cols: c.TTY.Cols}
	}
	return x, nil
}

// script makes the arguments that run a script without start-up files.
// Package exec takes care of one that is too long for an argument.
func (e environment) script(text string) []string {
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		text = " " + text // else the shell takes it for options
	}
	if e.hasBash() {
		return []string{e.shell, "--norc", "--noprofile", "-c", text}
	}
	return []string{e.shell, "-c", text}
}

// defaultDir is where a command starts that names no directory: the
// workspace, or what is left where that is gone.
func (s *server) defaultDir() string {
	for _, dir := range []string{s.o.Workdir, s.o.Home, "/tmp"} {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return dir
		}
	}
	return "/"
}

// timeoutOf returns how long a command may run; 0 means for ever.
func timeoutOf(c provider.Command) time.Duration {
	switch {
	case c.Timeout < 0:
		return 0
	case c.Timeout == 0:
		return provider.DefaultTimeout
	}
	return c.Timeout
}

// notStarted tells what a failed start means: a result, as a shell would
// give it, with a line for standard error; or an error.
func notStarted(err error) (res *wireResult, line string, failed error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, exec.ErrClosed) {
		return nil, "", errEnding()
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return nil, "", known
	}
	if errors.Is(err, shell.ErrClosed) {
		return nil, "", &provider.Error{Kind: provider.Conflict, Op: opExecute, Reason: "the session was closed before the command began", Next: "run it again, in a new session", Err: err}
	}
	var start *exec.StartError
	if !errors.As(err, &start) {
		return nil, "", &provider.Error{Kind: provider.Internal, Op: opExecute, Reason: "the command could not be started", Next: "try again", Err: err}
	}
	e := &provider.Error{Op: opExecute, Reason: start.Error(), Err: err}
	switch start.Reason {
	case exec.NotFound, exec.NotExecutable, exec.TooLong:
		return &wireResult{ExitCode: start.ExitCode()}, "sandboxfs: " + start.Error() + "\n", nil
	case exec.BadDir, exec.Invalid:
		e.Kind, e.Path = provider.Invalid, start.Path
	case exec.NoResources:
		e.Kind = provider.Unavailable
	default:
		e.Kind = provider.Internal
	}
	return nil, "", e
}
