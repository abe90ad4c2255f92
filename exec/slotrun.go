// This file runs in a slot, while untrusted commands run as its children.

package exec

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// slot is the state of the slot process. Two goroutines share it: listen, which
// takes the guest's messages, and forker, which runs the commands.
type slot struct {
	form        form
	landlockABI int
	unconfined  bool
	self        selfState // as it was before the first command
	starts      chan slotStart
	idle        chan struct{} // closed when starts is, and the last command has ended

	mu sync.Mutex
	// main is the running command's main process, 0 before it is started and
	// once it is reaped: its number is signalled under mu only.
	main int
	// ending says that the guest is gone: whatever is started is killed.
	ending bool
}

// slotStart is a start request with its descriptors, which run closes.
type slotStart struct {
	startRequest
	fds []int
}

// readStart decodes msgStart. On an error the caller closes fds.
func readStart(d *decoder, fds []int) (slotStart, error) {
	var r startRequest
	var extra bool
	d.flags(&r.stdin, &r.tty, &r.script, &r.body, &r.keep, &extra)
	want := 2
	for _, f := range []bool{r.stdin, r.script, r.body, extra} {
		if f {
			want++
		}
	}
	if r.tty {
		want--
	}
	if d.err != nil || len(fds) != want {
		return slotStart{}, errWire
	}
	if r.body {
		last := os.NewFile(uintptr(fds[want-1]), "request")
		content, err := io.ReadAll(io.LimitReader(last, maxBody+1))
		last.Close()
		if err != nil || len(content) > maxBody {
			return slotStart{}, errWire
		}
		d = &decoder{b: content}
		fds = fds[:want-1]
	}
	r.readBody(d)
	if d.err != nil || len(r.argv) == 0 || extra != (r.extra > scriptNumber) {
		return slotStart{}, errWire
	}
	return slotStart{startRequest: r, fds: fds}, nil
}

// run carries out one command after the other, on the forker's thread.
func (s *slot) run() {
	for st := range s.starts {
		pid, serr := s.start(&st)
		if serr != nil {
			e := newMessage(msgFailed).num(uint64(serr.Reason)).num(uint64(serr.Err)).str(serr.Path).str(serr.Detail)
			send(slotSocket, e.b)
			continue
		}
		begun := time.Now()
		send(slotSocket, newMessage(msgStarted).num(uint64(pid)).b)
		ws := s.waitMain(pid)
		took := time.Since(begun)
		if st.keep {
			ended := newMessage(msgEnded).num(uint64(ws)).num(uint64(took)).num(0)
			send(slotSocket, ended.flags(false).b)
			continue
		}
		left := s.sweep(func() {
			send(slotSocket, newMessage(msgExited).num(uint64(ws)).num(uint64(took)).b)
		})
		ended := newMessage(msgEnded).num(uint64(ws)).num(uint64(took)).num(uint64(left))
		send(slotSocket, ended.flags(readSelf().spoilt(s.self)).b)
	}
}

// start forks and executes the command. It closes the descriptors.
func (s *slot) start(st *slotStart) (int, *StartError) {
	defer closeAll(st.fds)
	if err := checkDir(st.dir); err != nil {
		return 0, err
	}
	program, serr := lookUp(st.argv[0], st.dir, st.env)
	if serr != nil {
		return 0, serr
	}
	pid, err := s.fork(program, st)
	if err != nil {
		return 0, execError(st.argv[0], err)
	}
	return pid, nil
}

// waitMain reaps children as they end until the main process has.
func (s *slot) waitMain(pid int) syscall.WaitStatus {
	for {
		ended, err := peekEnded(unix.P_ALL, 0, 0)
		if err != nil {
			return syscall.WaitStatus(unix.SIGKILL) // ECHILD: cannot be, the main process is ours
		}
		var ws syscall.WaitStatus
		s.mu.Lock()
		syscall.Wait4(ended, &ws, syscall.WNOHANG, nil)
		if ended == pid {
			s.main = 0
		}
		s.mu.Unlock()
		if ended == pid {
			return ws
		}
	}
}

// signalGroup sends a signal to the main process's group.
func (s *slot) signalGroup(sig unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main != 0 {
		unix.Kill(-s.main, sig)
	}
}

// kill ends the running command; run notices and sweeps. In a pid namespace one
// call ends the whole tree at once.
func (s *slot) kill() {
	if s.form == formNamespace {
		unix.Kill(-1, unix.SIGKILL)
		return
	}
	s.killMain()
}

// end kills the running command and every later one.
func (s *slot) end() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.killMain()
}

func (s *slot) killMain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main != 0 {
		unix.Kill(s.main, unix.SIGKILL)
	}
}
