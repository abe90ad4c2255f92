// This file runs in a slot; see slotmain.go.

package exec

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/exec/landlock"
)

// files are the command's descriptors 0, 1, 2, for a long script 3, and the
// further one. null is
// what is read where no input is wanted: opened for each command, since flags
// and locks belong to an open file and would outlive the command with it.
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
	if st.extra > 0 {
		for len(f) < st.extra {
			f = append(f, closed)
		}
		f = append(f, take())
	}
	return f
}

// closed in a list of descriptors leaves a number free.
const closed = ^uintptr(0)

// forker is the goroutine on whose thread all commands are forked, waited for
// and swept: a thread that is inside a Landlock domain, as the commands then
// are, while the main thread, whose number stands for the process, stays
// outside. Scoping is a bonus in a pid namespace, so failure is an error only
// where there is none.
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
	s.run()
	close(s.idle)
}

// fork starts the program. It must run on the forker's thread.
func (s *slot) fork(program string, st *slotStart) (int, error) {
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(null)
	attr := &syscall.ProcAttr{
		Dir:   st.dir,
		Env:   st.env,
		Files: st.files(null),
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: st.tty},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(program, st.argv, attr)
	if err != nil {
		return 0, err
	}
	s.main = pid
	if s.ending {
		unix.Kill(pid, unix.SIGKILL)
	}
	return pid, nil
}
