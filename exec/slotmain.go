// This file runs in a slot: the re-executed binary, in the namespaces that the
// guest made for it, before and while untrusted commands run as its children.

package exec

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slotSocket is the descriptor of the socket to the guest.
const slotSocket = 3

// SlotMain is the main function of the verb "slot". It never returns. It must
// be the first thing that the program does for that verb.
//
// It stays on the main thread, which therefore never forks a command and never
// enters a Landlock domain: a command that is scoped cannot signal it.
func SlotMain() {
	runtime.LockOSThread()
	if err := clearSignalMask(); err != nil {
		os.Exit(125)
	}
	unix.CloseRange(slotSocket, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	CatchSignals()
	s := &slot{starts: make(chan slotStart), idle: make(chan struct{})}
	if err := s.configure(); err != nil {
		send(slotSocket, newMessage(msgRefused).str(err.Error()).b)
		os.Exit(125)
	}
	if send(slotSocket, newMessage(msgReady).num(uint64(s.landlockABI)).b) == nil {
		s.listen()
		// The guest is gone or wants the slot to end. As pid 1 the exit ends
		// the namespace with everything in it; as a subreaper the sweep comes
		// first.
		if s.form == formSubreaper {
			s.end()
			close(s.starts)
			<-s.idle
		}
	}
	os.Exit(0)
}

// configure receives the guest's settings and locks the slot down.
func (s *slot) configure() error {
	buf := make([]byte, 256)
	n, fds, err := receive(slotSocket, buf)
	closeAll(fds)
	if err != nil || n == 0 {
		return fmt.Errorf("receive settings: %w", errWire)
	}
	d := &decoder{b: buf[:n]}
	if d.kind() != msgConfigure {
		return fmt.Errorf("receive settings: %w", errWire)
	}
	c := slotConfig{form: form(d.num()), maxProcesses: d.num()}
	d.flags(&c.unscoped, &c.unconfined)
	if d.err != nil {
		return fmt.Errorf("receive settings: %w", d.err)
	}
	return s.lockDown(c)
}

// listen carries out the guest's messages until the guest closes the socket.
func (s *slot) listen() {
	buf := make([]byte, maxPacket)
	var turn uint64
	for {
		n, fds, err := receive(slotSocket, buf)
		if err != nil || n == 0 {
			return
		}
		d := &decoder{b: buf[:n]}
		switch d.kind() {
		case msgStart:
			st, err := readStart(d, fds)
			if err != nil {
				closeAll(fds)
				return
			}
			turn++
			s.starts <- st
		case msgSignal:
			if t, n := d.num(), d.num(); d.err == nil && t == turn {
				s.signalGroup(unix.Signal(n))
			}
		case msgKill:
			if d.num() == turn {
				s.kill()
			}
		}
	}
}

// clearSignalMask makes sure that commands start with an empty signal mask. Go
// restores in every child the mask that the program itself was started with, so
// a mask inherited from whoever started the sandbox is shed by executing once
// more with an empty one.
func clearSignalMask() error {
	var mask, empty unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, nil, &mask); err != nil {
		return err
	}
	if mask == empty {
		return nil
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &empty, nil); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// siginfoChild is the part of siginfo_t that waitid fills in.
type siginfoChild struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// peekEnded waits for some child (or one of them, idType P_PID) to have ended
// and returns its pid without reaping it. It returns 0 under WNOHANG when none
// has.
func peekEnded(idType, id, options int) (int, error) {
	for {
		var info siginfoChild
		err := unix.Waitid(idType, id, (*unix.Siginfo)(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT|options, nil)
		if err == unix.EINTR {
			continue
		}
		return int(info.pid), err
	}
}
