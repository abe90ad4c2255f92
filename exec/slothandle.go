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
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	defer unix.Close(fds[1])
	ours := os.NewFile(uintptr(fds[0]), "slot")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	s := &slotHandle{
		e: e, conn: conn.(*net.UnixConn),
		ready: make(chan *decoder, 1), lost: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
	}
	if err := s.fork(fds[1]); err != nil {
		conn.Close()
		return nil, err
	}
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

// fork starts the slot process. Its environment holds settings of Go's runtime
// only: it has few things to do at once and little memory to keep.
func (s *slotHandle) fork(socket int) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"GOMAXPROCS=1", "GOGC=50"},
		Files: []uintptr{null.Fd(), null.Fd(), uintptr(syscall.Stderr), uintptr(socket)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if s.e.form == formNamespace {
		attr.Sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		held, err := capabilities()
		if err != nil {
			return fmt.Errorf("capget: %w", err)
		}
		if held[0].Permitted&(1<<unix.CAP_SYS_ADMIN) == 0 {
			return errors.New("clone(CLONE_NEWPID|CLONE_NEWNS): no CAP_SYS_ADMIN")
		}
		// Executing drops capabilities of a user that is not root, except
		// ambient ones. The slot sheds them once /proc is mounted.
		for _, c := range []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP} {
			if held[0].Permitted&(1<<c) != 0 {
				attr.Sys.AmbientCaps = append(attr.Sys.AmbientCaps, c)
			}
		}
	}
	pid, err := s.e.reaper.fork(s, func() (int, error) {
		return syscall.ForkExec(s.e.cfg.SlotPath, s.e.cfg.SlotArgv, attr)
	})
	if err != nil {
		return fmt.Errorf("clone and execute a slot: %w", err)
	}
	s.pid = pid
	s.e.mu.Lock()
	s.e.live[s] = struct{}{}
	s.e.mu.Unlock()
	return nil
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
