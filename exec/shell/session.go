package shell

import (
	"errors"
	"path"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
)

// Options configure a session. All are required.
type Options struct {
	// Executor has the slot in which the shell runs.
	Executor *exec.Executor
	// Path is the shell's: bash, or any other POSIX shell, which keeps less:
	// no functions, no aliases and no variables that are not exported.
	Path string
	// Env is the complete environment of the first shell.
	Env []string
	// Dir returns an existing directory: where the first shell starts, and
	// one whose directory is gone goes on.
	Dir func() string
}

// Session is a shell that is kept alive between commands, and replaced when it
// ends. Its methods are safe for concurrent callers, but one command runs at a
// time: Start may be called again when the Run before has ended.
type Session struct {
	o Options
	d dialect

	mu      sync.Mutex // guards what follows; held over no call that waits
	slot    *exec.Slot
	private *private
	sh      *process // nil: the next command starts one
	run     *Run     // nil: no command runs
	last    *state   // as the shell last wrote it down
	// unsaved counts the commands since, whose state was too large.
	unsaved int
	turn    uint64
	closed  bool
}

// Command is a text for the session's shell.
type Command struct {
	// Text is shell text, without a NUL byte.
	Text string
	// Dir, unless empty, becomes the session's working directory first.
	Dir string
	// Env is set for this one command. The names are POSIX names.
	Env map[string]string
	// Stdin gives the command a pipe as its standard input, else /dev/null.
	Stdin bool
}

// Change tells that the session goes on in another shell, or lost something.
type Change struct {
	// Reason says why, in words.
	Reason string
	// Lost names what the session does not have any more, in words.
	Lost []string
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("the session is closed")

// New returns a session. Its shell is started by the first command.
func New(o Options) *Session {
	s := &Session{o: o, d: sh(o.Path)}
	if path.Base(o.Path) == "bash" {
		s.d = bash(o.Path)
	}
	return s
}

// Dir is the working directory, as of the end of the last command.
func (s *Session) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		if dir := s.last.dir(); dir != "" {
			return dir
		}
	}
	return s.o.Dir()
}

// closeGrace is how long a shell may take over what it does at its exit.
const closeGrace = time.Second

// Close ends the session with everything that runs in it. An idle shell is let
// do first what it was told to do at its exit.
func (s *Session) Close() {
	s.mu.Lock()
	slot, sh, run, private := s.slot, s.sh, s.run, s.private
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	if sh != nil && run == nil {
		sh.p.Stdin.Close()
		waitFor(sh.p.Done(), closeGrace)
	}
	if slot != nil {
		slot.Close()
		waitFor(slot.Done(), 4*closeGrace)
	}
	if run != nil {
		<-run.done
	}
	if private != nil {
		private.close()
	}
}

// waitFor waits for a channel to be closed, but not longer than so.
func waitFor(c <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
	}
	return false
}
