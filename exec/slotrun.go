// This file runs in a slot, while untrusted commands run as its children.

package exec

import (
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/exec/landlock"
)

// slot is the state of the slot process. Three goroutines share it: listen,
// which takes the guest's messages, run, which waits, sweeps and reports, and
// forker.
type slot struct {
	form        form
	landlockABI int
	unconfined  bool
	null        int // /dev/null, for stdin
	starts      chan slotStart
	forks       chan forkRequest

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
	d.flags(&r.stdin, &r.tty, &r.script, &r.body)
	want := 2
	for _, f := range []bool{r.stdin, r.script, r.body} {
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
	if d.err != nil || len(r.argv) == 0 {
		return slotStart{}, errWire
	}
	return slotStart{startRequest: r, fds: fds}, nil
}

// run carries out one command after the other.
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
		left := s.sweep(func() {
			send(slotSocket, newMessage(msgExited).num(uint64(ws)).num(uint64(took)).b)
		})
		send(slotSocket, newMessage(msgEnded).num(uint64(ws)).num(uint64(took)).num(uint64(left)).b)
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

// files are the command's descriptors 0, 1, 2 and, for a long script, 3.
func (st *slotStart) files(null int) []uintptr {
	fds := st.fds
	take := func() uintptr {
		fd := fds[0]
		fds = fds[1:]
		return uintptr(fd)
	}
	var f []uintptr
	switch {
	case st.tty:
		t := take()
		f = []uintptr{t, t, t}
	case st.stdin:
		f = []uintptr{take(), take(), take()}
	default:
		f = []uintptr{uintptr(null), take(), take()}
	}
	if st.script {
		f = append(f, take())
	}
	return f
}

// forkRequest asks the forker for a command.
type forkRequest struct {
	program string
	start   *slotStart
	answer  chan<- forkAnswer
}

type forkAnswer struct {
	pid int
	err error
}

// forker is the goroutine on whose thread all commands are forked: a thread
// that is inside a Landlock domain, as the commands then are, while the main
// thread, whose number stands for the process, stays outside. Scoping is a bonus
// in a pid namespace, so failure is an error only where there is none.
//
// It is one thread for the slot's life, since a new one cannot be had while a
// command uses up the limit of processes. Through step it says that it exists,
// hears that the process has given its privileges up, and says how entering the
// domain went.
func (s *slot) forker(step chan error) {
	runtime.LockOSThread() // never unlocked
	if unix.Gettid() == unix.Getpid() {
		go s.forker(step)
		select {} // holds the main thread
	}
	if !s.unconfined {
		dropBounding()
	}
	step <- nil
	err := <-step
	if canScope(s.landlockABI) {
		err = landlock.ScopeThread(landlock.Signals | landlock.AbstractSockets)
		if err != nil && s.form == formNamespace {
			s.landlockABI, err = 0, nil
		}
	}
	step <- err
	for r := range s.forks {
		attr := &syscall.ProcAttr{
			Dir:   r.start.dir,
			Env:   r.start.env,
			Files: r.start.files(s.null),
			Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: r.start.tty},
		}
		s.mu.Lock()
		pid, err := syscall.ForkExec(r.program, r.start.argv, attr)
		if err == nil {
			s.main = pid
			if s.ending {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		s.mu.Unlock()
		r.answer <- forkAnswer{pid, err}
	}
}

// fork starts the program.
func (s *slot) fork(program string, st *slotStart) (int, error) {
	answer := make(chan forkAnswer, 1)
	s.forks <- forkRequest{program, st, answer}
	a := <-answer
	return a.pid, a.err
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
