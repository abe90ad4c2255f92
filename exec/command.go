package exec

import (
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// Command is one run: everything about it travels in this value.
type Command struct {
	// Argv is the program and its arguments. A name without a slash is looked
	// up in PATH of Env (see [DefaultPath]); one with a slash is relative to
	// Dir. A script given to a shell by -c may be longer than the kernel's
	// 128 KiB for one argument (see longScript).
	Argv []string
	// Dir is the working directory, absolute.
	Dir string
	// Env is the complete environment, KEY=VALUE.
	Env []string
	// Stdin says where the standard input comes from. A TTY is its own input.
	Stdin Stdin
	// TTY, when not nil, gives the command a terminal of its own from the
	// sandbox's devpts, as its controlling terminal. All output is then in
	// Stdout; [Process.Stderr] is nil.
	TTY *Size
	// Extra, when not nil, is one more descriptor for the command, which finds
	// it under ExtraFD, a number above 3. Start does not close it.
	Extra   *os.File
	ExtraFD int
}

// Stdin is the source of a command's standard input.
type Stdin int

const (
	// StdinNull is /dev/null: end of file at once.
	StdinNull Stdin = iota
	// StdinPipe is a pipe, written by [Process.Stdin].
	StdinPipe
)

// maxExtraFD bounds Command.ExtraFD, below any soft limit in use.
const maxExtraFD = 255

// Size is a terminal's window in characters. 0 rows or columns mean 24 and 80.
type Size struct{ Rows, Cols uint16 }

// DefaultPath is searched for a program when a command's environment has no
// PATH.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// Status is how a command ended.
type Status struct {
	// ExitCode is the exit status of the main process, 128+N after signal N.
	ExitCode int
	// Signal is the signal that ended the main process, else 0.
	Signal int
	// LeftRunning counts the processes that were still running when the main
	// process had ended and that were ended with it. There were at least so many:
	// one whose parent ignores SIGCHLD can vanish uncounted.
	LeftRunning int
	// Duration is from the start of the main process to its end.
	Duration time.Duration
}

// statusOf translates a wait status.
func statusOf(ws syscall.WaitStatus) Status {
	if ws.Signaled() {
		return Status{ExitCode: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return Status{ExitCode: ws.ExitStatus()}
}

// check refuses what cannot be run whatever the sandbox holds.
func (c *Command) check() error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return &StartError{Reason: Invalid, Detail: "no program is named"}
	case c.Extra != nil && (c.ExtraFD <= scriptNumber || c.ExtraFD > maxExtraFD):
		return &StartError{Reason: Invalid, Detail: "the number of the further descriptor is out of range"}
	case !path.IsAbs(c.Dir):
		return &StartError{Reason: Invalid, Path: c.Dir, Detail: "the working directory must be absolute"}
	}
	for _, list := range [][]string{c.Argv, c.Env, {c.Dir}} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return &StartError{Reason: Invalid, Detail: "an argument, variable or path holds a NUL byte"}
			}
		}
	}
	return nil
}
