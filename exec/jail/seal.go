package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// sealedEnv marks the second execution of pid 1: the world is built. Its value
// is the numbers of the descriptors of the control socket, the listener, the
// state and the early process's socket, or -1.
const sealedEnv = "SANDBOXFSD_SEALED"

// state is what the second execution needs to know.
type state struct {
	Tier      Tier              `json:"tier"`
	OwnUserNS bool              `json:"own_userns"`
	EarlyPid  int               `json:"early_pid"`
	Extra     []byte            `json:"extra"`
	Isolation map[string]string `json:"isolation"`
}

// seal locks the calling thread down and executes the program again, so that
// every thread of it is born locked down. It returns only on an error.
func seal(w *world, control *net.UnixConn, listener *os.File, start func() (int, *os.File, error)) error {
	runtime.LockOSThread()
	if err := lockDown(w); err != nil {
		return err
	}
	pid, early := 0, (*os.File)(nil)
	if start != nil {
		if p, f, err := start(); err == nil {
			pid, early = p, f
		}
	}
	st, err := writeState(state{Tier: w.Tier, OwnUserNS: w.OwnUserNS, Extra: w.Extra, Isolation: w.Isolation, EarlyPid: pid})
	if err != nil {
		return failed("keep the state", err)
	}
	ctl, err := control.File()
	if err != nil {
		return failed("keep the control socket", err)
	}
	// Duplicates that survive the execution. They keep the numbers they get:
	// moving them to agreed ones could hit the runtime's own descriptors.
	fds := [4]int{3: -1}
	for i, f := range []*os.File{ctl, listener, st, early} {
		if f == nil {
			continue
		}
		if fds[i], err = unix.FcntlInt(f.Fd(), unix.F_DUPFD, controlFD+1); err != nil {
			return failed("fcntl(F_DUPFD)", err)
		}
	}
	env := append(guestEnv[:len(guestEnv):len(guestEnv)], oneThread, fmt.Sprintf("%s=%d,%d,%d,%d", sealedEnv, fds[0], fds[1], fds[2], fds[3]))
	// Executing from this thread makes it the leader, and the parent-death
	// signal belongs to a thread.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return failed("prctl(PR_SET_PDEATHSIG)", err)
	}
	return failed("execute the guest again", unix.Exec("/proc/self/exe", os.Args, env))
}

func writeState(s state) (*os.File, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("state", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "state")
	_, err = f.Write(b)
	return f, err
}

// sealed returns the descriptors that the first execution left, and whether
// there was one.
func sealed() (fds [4]int, again bool, err error) {
	v := os.Getenv(sealedEnv)
	if v == "" {
		return fds, false, nil
	}
	if _, err := fmt.Sscanf(v, "%d,%d,%d,%d", &fds[0], &fds[1], &fds[2], &fds[3]); err != nil {
		return fds, true, err
	}
	return fds, true, os.Unsetenv(sealedEnv)
}

// resume is the second execution's part: it takes over the descriptors.
func resume(control *net.UnixConn, listener, saved *os.File, early int) (*Inside, error) {
	defer listener.Close()
	defer saved.Close()
	var s state
	if _, err := saved.Seek(0, 0); err != nil {
		return nil, failed("read the state", err)
	}
	if err := json.NewDecoder(saved).Decode(&s); err != nil {
		return nil, failed("read the state", err)
	}
	if s.OwnUserNS {
		// What the guest executes gets the capability only when it is given.
		_, _, e := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0)
		if e != 0 && !errors.Is(e, unix.ENOTSUP) { // not in a program built with cgo
			return nil, failed("prctl(PR_CAP_AMBIENT)", e)
		}
	}
	ln, err := net.FileListener(listener)
	if err != nil {
		return nil, failed("take the listener", err)
	}
	in := &Inside{
		Listener: ln, Extra: s.Extra, Tier: s.Tier, Isolation: s.Isolation,
		control: control, done: make(chan struct{}),
	}
	if early >= 0 {
		in.Early = &Early{Pid: s.EarlyPid, Socket: os.NewFile(uintptr(early), "early")}
	}
	return in, nil
}
