package exec

import (
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a started command. Its methods are safe for concurrent callers.
type Process struct {
	// Stdin writes to the command's input; nil when that is /dev/null. The
	// caller closes it to give end of file; on a terminal Close types the
	// end-of-file character where the terminal interprets it. Writes fail
	// once the command has ended.
	Stdin io.WriteCloser
	// Stdout and Stderr give what the command writes, and end of file when
	// everything that it wrote before its end has been read: a process
	// elsewhere that holds the pipe does not delay that. Stderr is nil with a
	// TTY. The caller reads them to the end or closes them; closing makes the
	// command's writes fail with EPIPE, and hangs up a terminal.
	Stdout, Stderr io.ReadCloser

	slot    *slotHandle
	streams *streams
	turn    uint64
	pid     int
	begun   time.Time
	done    chan struct{}
	reply   chan *decoder // msgStarted or msgFailed

	mu     sync.Mutex
	status Status
	err    error
	exited bool // status is the main process's
	killed bool // the slot is not to be reused
	ended  bool
}

// ErrStuck is returned by Wait when a process of the tree did not die: it is
// blocked in an uninterruptible call.
var ErrStuck = errors.New("a process is blocked in the kernel and could not be ended")

func newProcess(s *slotHandle, io *streams) *Process {
	s.turn++
	p := &Process{slot: s, turn: s.turn, streams: io, begun: time.Now(), done: make(chan struct{}), reply: make(chan *decoder, 1)}
	p.Stdin, p.Stdout, p.Stderr = io.interfaces()
	return p
}

// Pid is the main process's number as the command itself sees it.
func (p *Process) Pid() int { return p.pid }

// Signal sends a signal to the command's process group (the main process and
// what it started without changing groups). After the end it does nothing.
func (p *Process) Signal(sig unix.Signal) error {
	if sig <= 0 || sig > 64 {
		return unix.EINVAL
	}
	if p.isDone() {
		return nil
	}
	if err := p.slot.send(newMessage(msgSignal).num(p.turn).num(uint64(sig)).b, nil); err != nil && !p.isDone() {
		return unix.ESRCH
	}
	return nil
}

// Resize sets the terminal's window and so sends SIGWINCH to its foreground
// group; ENOTTY without a TTY.
func (p *Process) Resize(size Size) error { return p.streams.resize(size) }

// Kill ends the command's whole tree with SIGKILL, at once. It returns without
// waiting; Wait reports the end.
func (p *Process) Kill() {
	p.mu.Lock()
	first := !p.killed && !p.ended
	p.killed = true
	p.mu.Unlock()
	if !first {
		return
	}
	if err := p.slot.send(newMessage(msgKill).num(p.turn).b, nil); err != nil {
		p.slot.kill()
		return
	}
	go p.endWithin(p.slot.e.cfg.KillTimeout)
}

// endWithin kills the slot if it has not ended the tree in time, and gives up
// waiting if not even that does: some process then sits in a call that cannot be
// interrupted, and the slot's end is waited for in the background.
func (p *Process) endWithin(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return
	case <-t.C:
	}
	go p.slot.kill()
	t.Reset(max(d, stuckTimeout))
	select {
	case <-p.done:
	case <-t.C:
		if p.claimEnd() {
			p.slot.conn.Close()
			p.lost()
			p.finish(ErrStuck)
			close(p.done)
		}
	}
}

// stuckTimeout is the least time that a killed slot is waited for.
const stuckTimeout = 3 * time.Second

// Done is closed when Wait would return at once.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when the main process has ended and its whole tree has been
// killed and reaped. It does not wait for Stdout and Stderr to be read. It can
// be called more than once. The error is [ErrStuck] or nil.
func (p *Process) Wait() (Status, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.err
}

func (p *Process) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// progress takes msgExited and msgEnded. It runs in the slot's reader.
func (p *Process) progress(d *decoder) {
	k := d.kind()
	ws, took := syscall.WaitStatus(d.num()), time.Duration(d.num())
	p.mu.Lock()
	p.status = statusOf(ws)
	p.status.Duration = took
	p.exited = true
	if k == msgExited {
		p.mu.Unlock()
		go p.endWithin(p.slot.e.cfg.KillTimeout)
		return
	}
	p.status.LeftRunning = int(d.num())
	var spoilt bool
	d.flags(&spoilt)
	odd := p.killed || spoilt || d.err != nil
	p.mu.Unlock()
	if !p.claimEnd() {
		return // given up as stuck; the slot is being discarded
	}
	p.slot.process.Store(nil)
	p.finish(nil)
	switch {
	case p.slot.held:
	case odd:
		p.slot.discard()
	default:
		p.slot.e.release(p.slot)
	}
	close(p.done)
}

// slotDied takes the end of the slot itself: the kernel has ended the tree with
// it, or the guest has adopted and ended what was left.
func (p *Process) slotDied() {
	if !p.claimEnd() {
		return
	}
	p.lost()
	p.finish(nil)
	close(p.done)
}

// lost sets the status where the slot has not told it.
func (p *Process) lost() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exited {
		p.status = Status{ExitCode: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL), Duration: time.Since(p.begun)}
	}
}

// claimEnd reports whether the caller is the one to end the process.
func (p *Process) claimEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.ended
	p.ended = true
	return first
}

// finish lets the streams end and counts the command out.
func (p *Process) finish(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	p.streams.finish()
	p.slot.e.count(-1)
}

// Terminate ends a command in the polite way: SIGTERM to its process group, the
// grace for it to end, then SIGKILL to the whole tree. It returns when the
// command has ended; it is what a timeout does.
func Terminate(p *Process, grace time.Duration) {
	p.Signal(unix.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.Kill()
		<-p.done
	}
}
