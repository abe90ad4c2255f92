package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"golang.org/x/sys/unix"
)

// Run is one command of a session. Its methods are safe for concurrent callers.
type Run struct {
	// Stdin writes to the command's input; nil when that is /dev/null. The
	// caller closes it to give end of file. Writes fail once the command has
	// ended or reads no more.
	Stdin io.WriteCloser
	// Stdout and Stderr give what the command writes, and end of file when
	// everything that it wrote before its end has been read. The caller reads
	// them to the end, and closes them. What background jobs write after the
	// end of the command is dropped.
	Stdout, Stderr io.ReadCloser

	s        *Session
	sh       *process
	out, err *stream
	in       *input
	begun    uint64 // in ticks, as proc.start
	started  time.Time
	done     chan struct{} // closed when what follows is final

	status exec.Status
	change *Change

	silent     bool          // the shell was ended because it said nothing
	terminated bool          // the command was ended by Terminate
	ended      chan struct{} // closed when Terminate has done its work

	mu     sync.Mutex // guards what follows
	ending bool       // Terminate is at work, or was
	final  bool       // the command has ended
	held   bool       // we have stopped the shell ourselves
}

// Wait returns when the command has ended, and says how, and what happened to
// the session by it; nil where its shell lives on with all that it had.
func (r *Run) Wait() (exec.Status, *Change) {
	<-r.done
	return r.status, r.change
}

// Start starts a command. The context bounds the start alone. An error means
// that nothing of the command ran; it is an [exec.StartError], the context's or
// ErrClosed.
func (s *Session) Start(ctx context.Context, c Command) (*Run, error) {
	if c.Dir != "" {
		if st, err := os.Stat(c.Dir); err != nil || !st.IsDir() {
			e := &exec.StartError{Reason: exec.BadDir, Path: c.Dir, Err: unix.ENOTDIR}
			if no, ok := underlying(err); ok {
				e.Err = no
			}
			return nil, e
		}
	}
	r, change, err := s.ready(ctx, &c)
	if err != nil {
		return nil, err
	}
	r.change = change
	nonce := newNonce()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		r.letGo()
		return nil, ErrClosed
	}
	s.run = r
	hook := ""
	if s.last != nil && !s.last.hasExitTrap() {
		hook = s.d.hook // the command before has taken it off
	}
	s.mu.Unlock()
	if r.in != nil {
		go r.in.open() // the shell waits for it
	}
	go r.see(nonce, hook+s.d.command(s.turn, nonce, &c))
	return r, nil
}

// ready makes what a command needs: a shell, and files. Where a command before
// it has filled the session's files, all of it is made anew.
func (s *Session) ready(ctx context.Context, c *Command) (*Run, *Change, error) {
	var change *Change
	for again := false; ; again = true {
		sh, now, err := s.shell(ctx)
		if err != nil {
			return nil, nil, err
		}
		change = merge(change, now)
		dir := c.Dir
		if dir == "" {
			var moved *Change
			dir, moved = s.lostDir(sh)
			change = merge(change, moved)
		}
		r, err := s.newRun(sh, c)
		if err == nil {
			c.Dir = dir
			return r, change, nil
		}
		if again {
			return nil, nil, &exec.StartError{Reason: exec.NoResources, Path: "the session's command", Detail: err.Error()}
		}
		s.forget(sh)
		sh.end()
		s.mu.Lock()
		s.private.close()
		s.private = nil
		s.mu.Unlock()
		change = merge(change, &Change{Reason: "the shell was replaced: the files by which it is spoken to were full", Lost: s.lostJobs()})
	}
}

// newRun makes the command's files.
func (s *Session) newRun(sh *process, c *Command) (r *Run, err error) {
	s.turn++
	p := s.private
	r = &Run{s: s, sh: sh, done: make(chan struct{}), ended: make(chan struct{}), started: time.Now(), begun: uint64(uptime() / tick)}
	defer func() {
		if err != nil {
			r.letGo()
		}
	}()
	if r.out, err = newStream(p, outName(s.turn)); err != nil {
		return r, err
	}
	if r.err, err = newStream(p, errName(s.turn)); err != nil {
		return r, err
	}
	if c.Stdin {
		if r.in, err = newInput(p); err != nil {
			return r, err
		}
		r.Stdin = r.in
	}
	r.Stdout, r.Stderr = r.out, r.err
	p.remove(fileState)
	return r, p.write(fileText, []byte(c.Text))
}

// letGo closes what a command that did not start had.
func (r *Run) letGo() {
	for _, o := range []*stream{r.out, r.err} {
		if o != nil {
			o.Close()
		}
	}
	if r.in != nil {
		r.in.abort()
	}
}

// Limits of a shell's silence: it has read the line by which it reports and
// says nothing. One that waits for more to read will never; one that works may
// have much to write down.
const (
	silenceIdle = time.Second
	silenceBusy = 20 * time.Second
	pollSilence = 200 * time.Millisecond
)

// see sends the command and sees it to its end.
func (r *Run) see(nonce, lines string) {
	sent := make(chan error, 1)
	go func() { sent <- r.sh.send(lines) }()
	got := make(chan int, 1)
	go r.sh.awaitReport(nonce, got)
	poll := time.NewTicker(pollSilence)
	defer poll.Stop()
	var quiet, idle time.Time
	for {
		select {
		case code := <-got:
			r.finish(exec.Status{ExitCode: code}, true)
			return
		case <-r.sh.p.Done():
			select {
			case code := <-got: // it reported, and died then
				r.finish(exec.Status{ExitCode: code}, true)
			default:
				st, _ := r.sh.p.Wait()
				r.finish(st, false)
			}
			return
		case err := <-sent:
			if err == nil {
				sent = nil
				continue
			}
			// It does not read: stopped, or its input is not ours any more.
			r.sh.end()
		case now := <-poll.C:
			r.wake()
			if sent != nil || r.sh.unread() > 0 {
				quiet, idle = time.Time{}, time.Time{}
				continue
			}
			if quiet.IsZero() {
				quiet = now
			}
			p := readProc(r.sh.self.pid)
			if p == nil || p.state != 'S' && p.state != 'T' {
				idle = time.Time{}
			} else if idle.IsZero() {
				idle = now
			}
			if now.Sub(quiet) > silenceBusy || !idle.IsZero() && now.Sub(idle) > silenceIdle {
				r.silent = true
				r.sh.end()
			}
		}
	}
}

// finish makes everything final. The shell has reported, or is dead.
func (r *Run) finish(status exec.Status, reported bool) {
	s := r.s
	r.terminated = r.settled()
	status.Duration = time.Since(r.started)
	st, err := readState(s.private)
	var change *Change
	if reported && !isDone(r.sh.p.Done()) {
		change = r.judge(st, err)
	} else {
		change = r.bury(status, st)
	}
	s.mu.Lock()
	if st != nil {
		s.last, s.unsaved = st, 0
	}
	s.run = nil
	s.mu.Unlock()
	r.status, r.change = status, merge(r.change, change)
	r.out.finish()
	r.err.finish()
	if r.in != nil {
		r.in.abort()
	}
	for _, name := range []string{fileText, fileState, fileInput, r.out.f.Name(), r.err.f.Name()} {
		s.private.remove(name)
	}
	close(r.done)
}

// judge looks at the state of a living shell.
func (r *Run) judge(st *state, err error) *Change {
	if err == errStateLarge { //nolint:errorlint // made here
		r.s.mu.Lock()
		r.s.unsaved++
		r.s.mu.Unlock()
		return &Change{Reason: "the session's state, with its variables and functions, is more than 8 MiB, too much to be restored should its shell end"}
	}
	if st == nil {
		return nil
	}
	c := &Change{}
	if names := st.dropReadonly(); len(names) > 0 {
		c = merge(c, &Change{Reason: "no shell works with these variables read-only: " + list(names), Lost: []string{"the attribute read-only of " + list(names)}})
	}
	if names := st.dropDisabled(); len(names) > 0 {
		c = merge(c, &Change{Reason: "the session needs these builtins: " + list(names), Lost: []string{"enable -n " + strings.Join(names, " ")}})
	}
	if c.Reason == "" {
		return nil
	}
	r.s.forget(r.sh)
	r.sh.end()
	c.Reason = "the shell was replaced: " + c.Reason
	c.Lost = append(c.Lost, r.s.lostJobs()...)
	return c
}

// bury tells why the shell ended and what went with it.
func (r *Run) bury(status exec.Status, st *state) *Change {
	s := r.s
	s.forget(r.sh)
	r.sh.abandon()
	c := &Change{}
	switch {
	case r.silent:
		c.Reason = "the shell did not answer any more after the command"
	case r.terminated:
		c.Reason = "the shell was ended with its command"
	case status.Signal != 0:
		c.Reason = fmt.Sprintf("the shell was ended by signal %d", status.Signal)
	default:
		c.Reason = fmt.Sprintf("the shell ended with status %d", status.ExitCode)
	}
	if st == nil {
		s.mu.Lock()
		st = s.last
		lost := "what this command changed in the shell"
		if s.unsaved > 0 {
			lost = fmt.Sprintf("what the last %d commands changed in the shell, its directory too", s.unsaved+1)
		}
		s.unsaved = 0
		s.mu.Unlock()
		c.Lost = append(c.Lost, lost)
	}
	if st != nil && status.Signal == 0 && st.dropErrexit() {
		c.Lost = append(c.Lost, "set -e, which may have ended the shell")
	}
	if s.d.hook == "" {
		c.Lost = append(c.Lost, "functions, aliases, and variables that are not exported")
	}
	c.Lost = append(c.Lost, s.lostJobs()...)
	return c
}

// lostJobs tells what a new shell does not know of the jobs that live on.
func (s *Session) lostJobs() []string {
	s.mu.Lock()
	slot := s.slot
	s.mu.Unlock()
	if slot == nil || isDone(slot.Done()) {
		return []string{"background jobs"}
	}
	switch n := CountJobs(s)[0]; n {
	case 0:
		return nil
	case 1:
		return []string{"the shell's knowledge (jobs, wait, fg) of a background job, which lives on"}
	default:
		return []string{fmt.Sprintf("the shell's knowledge (jobs, wait, fg) of %d background jobs, which live on", n)}
	}
}
