package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/exec"
	"golang.org/x/sys/unix"
)

// shell returns the session's living shell, or starts one.
func (s *Session) shell(ctx context.Context) (*process, *Change, error) {
	s.mu.Lock()
	sh, last, slot := s.sh, s.last, s.slot
	s.mu.Unlock()
	var change *Change
	if sh != nil {
		p := readProc(sh.self.pid)
		switch {
		case isDone(sh.p.Done()) || p == nil || !p.same(sh.self) || p.dead():
			waitFor(sh.p.Done(), closeGrace)
			change = &Change{Reason: "the shell has ended since the last command"}
			s.forget(sh)
			sh.abandon()
		case p.state == 'T' || p.state == 't':
			change = &Change{Reason: "the shell had been stopped, and was replaced"}
			s.forget(sh)
			sh.end()
		default:
			return sh, nil, nil
		}
		change.Lost = s.lostJobs()
	} else if slot != nil && isDone(slot.Done()) {
		change = &Change{Reason: "everything that ran in the session was ended from outside", Lost: []string{"background jobs"}}
	}
	fresh, err := s.start(ctx, last)
	if err != nil && last != nil && errors.Is(err, errNotReady) {
		// What was written down cannot be read again.
		fresh, err = s.start(ctx, nil)
		change = merge(change, &Change{Reason: "the state could not be restored", Lost: []string{"working directory, variables, functions, aliases, options and traps"}})
	}
	if err != nil && s.isCrowded(err) {
		slot.Close()
		waitFor(slot.Done(), 2*killLimit)
		change = merge(change, &Change{Reason: "the session's background jobs had used up the processes that the sandbox may have", Lost: []string{"background jobs, which were ended"}})
		fresh, err = s.start(ctx, last)
	}
	if err != nil {
		return nil, nil, err
	}
	if last != nil {
		change = merge(change, s.compare(last))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		go fresh.end()
		return nil, nil, ErrClosed
	}
	s.sh = fresh
	return fresh, change, nil
}

// isCrowded reports whether a shell could not be started because most of the
// processes that there are belong to this very session.
func (s *Session) isCrowded(err error) bool {
	var start *exec.StartError
	if !errors.Is(err, errNotReady) && !(errors.As(err, &start) && start.Reason == exec.NoResources) {
		return false
	}
	s.mu.Lock()
	slot := s.slot
	s.mu.Unlock()
	t, terr := readTable()
	if terr != nil || slot == nil {
		return false
	}
	const few = 64 // so many are nobody's bomb
	own := len(t.below(slot.Pid()))
	return own > few && 2*own > len(t.byPID)
}

// compare tells what a new shell has not restored.
func (s *Session) compare(was *state) *Change {
	s.mu.Lock()
	now := s.last
	s.mu.Unlock()
	if dir := was.dir(); now != nil && dir != "" && now.dir() != dir {
		return gone(dir, now.dir())
	}
	return nil
}

func gone(was, now string) *Change {
	return &Change{Reason: fmt.Sprintf("the working directory %s is gone", was), Lost: []string{"the working directory, which is now " + now}}
}

// forget takes a shell off, which is dead or about to be.
func (s *Session) forget(sh *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sh == sh {
		s.sh = nil
	}
}

// lostDir returns a directory to go to where the shell's own has been removed,
// else "".
func (s *Session) lostDir(sh *process) (string, *Change) {
	link := fmt.Sprintf("/proc/%d/cwd", sh.self.pid)
	name, err := os.Readlink(link)
	if err != nil {
		return "", nil
	}
	var st unix.Stat_t
	err = unix.Stat(link, &st)
	if !strings.HasSuffix(name, " (deleted)") && (err == nil && st.Nlink > 0 || err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESTALE)) {
		return "", nil
	}
	was := s.Dir()
	if st, err := os.Stat(was); err == nil && st.IsDir() {
		return was, nil // made again under its name
	}
	now := s.o.Dir()
	return now, gone(was, now)
}

// merge joins two changes, either of which may be nil.
func merge(a, b *Change) *Change {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	c := &Change{Reason: a.Reason, Lost: append(a.Lost[:len(a.Lost):len(a.Lost)], b.Lost...)}
	switch {
	case c.Reason == "":
		c.Reason = b.Reason
	case b.Reason != "":
		c.Reason += "; " + b.Reason
	}
	return c
}

func list(words []string) string { return strings.Join(words, ", ") }

// underlying finds the errno of an error of package os.
func underlying(err error) (syscall.Errno, bool) {
	var no syscall.Errno
	ok := errors.As(err, &no)
	return no, ok
}
