package shell

import (
	"time"

	"golang.org/x/sys/unix"
)

// hold stops the shell, so that it starts nothing more, and lists what the
// running command waits for: the shell's children but for the background jobs.
// The caller lets the shell go on.
func (r *Run) hold() (roots []*proc) {
	self := r.sh.self
	r.mu.Lock()
	r.held = true
	r.mu.Unlock()
	self.send(unix.SIGSTOP)
	for limit := time.Now().Add(stopLimit); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		if p := readProc(self.pid); p == nil || !p.same(self) || p.state == 'T' || p.dead() {
			break
		}
	}
	t, err := readTable()
	if err != nil {
		return nil
	}
	for _, p := range t.children[self.pid] {
		if !p.dead() && !isBackground(p, r) {
			roots = append(roots, p)
		}
	}
	return roots
}

// stopLimit bounds how long a shell may take to be seen stopped.
const stopLimit = 100 * time.Millisecond

// Signal sends a signal to the command: to its processes and to the shell, as a
// terminal would, but not to background jobs. After the end it does nothing.
func (r *Run) Signal(sig unix.Signal) error {
	if sig <= 0 || sig > 64 {
		return unix.EINVAL
	}
	if isDone(r.done) {
		return nil
	}
	f := &family{roots: r.hold()}
	f.find()
	r.sh.self.send(sig)
	for _, p := range f.alive {
		p.send(sig)
	}
	r.mu.Lock()
	r.held = r.ending
	r.mu.Unlock()
	r.sh.self.send(unix.SIGCONT)
	return nil
}

// wake lets a shell go on that somebody else has stopped: nobody waits for it to
// be stopped.
func (r *Run) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := readProc(r.sh.self.pid); !r.held && p != nil && p.state == 'T' {
		r.sh.self.send(unix.SIGCONT)
	}
}

// Terminate ends the command: SIGTERM to the shell, so that nothing more of the
// text is run, and to what it waits for, and after the grace SIGKILL. Background
// jobs live on. It returns when the command has ended.
func (r *Run) Terminate(grace time.Duration) {
	r.mu.Lock()
	first := !r.ending && !r.final
	r.ending = r.ending || first
	r.mu.Unlock()
	if first {
		f := &family{roots: r.hold()}
		r.sh.self.send(unix.SIGTERM)
		r.sh.self.send(unix.SIGCONT)
		f.terminate(grace, func() bool { return isDone(r.sh.p.Done()) })
		// The shell goes first: it must not go on in its text where what it
		// waits for is killed.
		r.sh.self.send(unix.SIGKILL)
		waitFor(r.sh.p.Done(), killLimit)
		f.kill()
		close(r.ended)
	}
	<-r.done
}

// killLimit is how long a killed process may take to be gone; one that is
// blocked in the kernel takes longer.
const killLimit = 2 * time.Second

// settled waits for Terminate where that is at work, reports whether it was, and
// keeps it from beginning.
func (r *Run) settled() (terminated bool) {
	r.mu.Lock()
	terminated = r.ending
	r.final = true
	r.mu.Unlock()
	if terminated {
		<-r.ended
	}
	return terminated
}
