package exec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// slotStartTimeout bounds the start of a slot and of a command in it.
const slotStartTimeout = 20 * time.Second

var (
	// errSlotUnused says that the request never reached the slot.
	errSlotUnused = errors.New("the process for it had ended")
	// errSlotLost: the slot ended before it could work, for want of a thread or
	// memory, or killed.
	errSlotLost = errors.New("the process for it ended while it was starting")
	errSlotLate = fmt.Errorf("the process for it was not ready within %v", slotStartTimeout)
)

// slotHandle is the guest's end of one slot.
type slotHandle struct {
	e           *Executor
	pid         int
	conn        *net.UnixConn
	landlockABI int
	limit       uint64    // of its commands' processes
	idleSince   time.Time // guarded by Executor.mu
	turn        uint64    // commands sent so far; whoever has acquired the slot owns it
	held        bool      // it is a [Slot]'s, which keeps it whatever happens

	ready   chan *decoder // the answer to msgConfigure
	unread  bool          // the slot ended and had not read the last message; read after lost
	lost    chan struct{} // closed when the socket has ended
	gone    chan struct{} // closed when the process is reaped
	done    chan struct{} // closed when, besides, its command has been told
	process atomic.Pointer[Process]
}

// newSlot starts a slot and waits until it has locked itself down.
func (e *Executor) newSlot(ctx context.Context) (*slotHandle, error) {
	ours, theirs, err := slotSockets()
	if err != nil {
		return nil, err
	}
	defer unix.Close(theirs)
	s, err := e.newHandle(ours)
	if err != nil {
		return nil, err
	}
	if err := e.file(s, func() (int, error) { return forkSlot(e.cfg, e.form, theirs) }); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s.begin(ctx)
}

// slotSockets makes the two ends of the socket between guest and slot.
func slotSockets() (ours *os.File, theirs int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "slot"), fds[1], nil
}

// newHandle takes the guest's end over.
func (e *Executor) newHandle(ours *os.File) (*slotHandle, error) {
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	return &slotHandle{
		e: e, conn: conn.(*net.UnixConn),
		ready: make(chan *decoder, 1), lost: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// file makes the process known.
func (e *Executor) file(s *slotHandle, fork func() (int, error)) error {
	pid, err := e.reaper.fork(s, fork)
	if err != nil {
		return err
	}
	s.pid = pid
	e.mu.Lock()
	e.live[s] = struct{}{}
	e.mu.Unlock()
	return nil
}

// begin configures the process and waits until it has locked itself down.
func (s *slotHandle) begin(ctx context.Context) (*slotHandle, error) {
	e := s.e
	go s.read()
	e.mu.Lock()
	s.limit = e.bounds.forSlot(len(e.live))
	e.mu.Unlock()
	config := newMessage(msgConfigure).num(uint64(e.form)).num(s.limit).flags(e.cfg.unscoped, e.cfg.Confinement == Unconfined)
	if err := s.send(config.b, nil); err != nil {
		s.discard()
		return nil, fmt.Errorf("configure slot: %w (%v)", errSlotLost, err)
	}
	d, err := s.await(ctx, s.ready)
	if err != nil {
		s.discard()
		return nil, err
	}
	switch d.kind() {
	case msgReady:
		s.landlockABI = int(d.num())
		return s, nil
	case msgRefused:
		err = errors.New(d.str())
	default:
		err = errWire
	}
	s.discard()
	<-s.gone
	return nil, err
}

// forkSlot starts the slot process. Its environment holds settings of Go's runtime
// only: it has few things to do at once and little memory to keep.
func forkSlot(cfg Config, f form, socket int) (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1", "GOGC=50"},
		Files: []uintptr{null.Fd(), null.Fd(), uintptr(syscall.Stderr), uintptr(socket)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if f == formNamespace {
		attr.Sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		held, err := capabilities()
		if err != nil {
			return 0, fmt.Errorf("capget: %w", err)
		}
		if held[0].Permitted&(1<<unix.CAP_SYS_ADMIN) == 0 {
			return 0, errors.New("clone(CLONE_NEWPID|CLONE_NEWNS): no CAP_SYS_ADMIN")
		}
		// Executing drops capabilities of a user that is not root, except
		// ambient ones. The slot sheds them once /proc is mounted.
		for _, c := range []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP} {
			if held[0].Permitted&(1<<c) != 0 {
				attr.Sys.AmbientCaps = append(attr.Sys.AmbientCaps, c)
			}
		}
	}
	pid, err = syscall.ForkExec(cfg.SlotPath, cfg.SlotArgv, attr)
	if err != nil {
		return 0, fmt.Errorf("clone and execute a slot: %w", err)
	}
	return pid, nil
}

// send writes one message with descriptors.
func (s *slotHandle) send(b []byte, fds []int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	_, _, err := s.conn.WriteMsgUnix(b, oob, nil)
	return err
}

// await waits for the slot's answer.
func (s *slotHandle) await(ctx context.Context, answer <-chan *decoder) (*decoder, error) {
	select {
	case d := <-answer:
		return d, nil
	case <-s.lost:
		select { // an answer sent just before the end
		case d := <-answer:
			return d, nil
		default:
		}
		return nil, errSlotLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read takes the slot's messages until its socket ends.
func (s *slotHandle) read() {
	buf := make([]byte, 4096)
	for {
		n, _, _, _, err := s.conn.ReadMsgUnix(buf, nil)
		if err != nil || n == 0 {
			s.unread = errors.Is(err, unix.ECONNRESET)
			break
		}
		d := &decoder{b: append([]byte(nil), buf[:n]...)}
		p := s.process.Load()
		switch k := kind(buf[0]); {
		case k == msgReady || k == msgRefused:
			s.ready <- d // once in a slot's life
		case p == nil:
		case k == msgStarted || k == msgFailed:
			p.reply <- d // once in a process's life
		default:
			p.progress(d)
		}
	}
	close(s.lost)
	s.kill() // without its socket a slot is of no use
	<-s.gone
	if p := s.process.Load(); p != nil {
		p.slotDied()
	}
	s.e.forget(s)
	close(s.done)
}

// kill kills the slot process, once at most after it is reaped: never.
func (s *slotHandle) kill() { s.e.reaper.kill(s) }

// discard ends a slot that is not needed or not trusted any more. As pid 1 of a
// namespace its death ends everything in it; a subreaper is given the time to
// sweep first, by the end of its socket.
func (s *slotHandle) discard() {
	if s.e.form == formNamespace {
		s.kill()
	}
	s.conn.Close()
}

// putBack gives a slot whose command did not start back to the pool.
func (s *slotHandle) putBack() {
	if !s.held {
		s.e.release(s)
	}
}

func (s *slotHandle) isLost() bool {
	select {
	case <-s.lost:
		return true
	case <-s.gone:
		return true
	default:
		return false
	}
}
