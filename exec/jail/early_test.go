package jail

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startEcho starts a cat that echoes what is sent to it, in a pid namespace of
// its own as a slot is.
func startEcho() (int, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	defer unix.Close(fds[1])
	pid, err := syscall.ForkExec("/usr/bin/cat", []string{"cat"}, &syscall.ProcAttr{
		Files: []uintptr{uintptr(fds[1]), uintptr(fds[1]), uintptr(syscall.Stderr)},
		Sys:   &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS},
	})
	return pid, os.NewFile(uintptr(fds[0]), "echo"), err
}

// echoed says what comes of an early process.
func echoed(e *Early) string {
	if e == nil {
		return "none"
	}
	defer e.Socket.Close()
	if _, err := e.Socket.WriteString("hello"); err != nil {
		return err.Error()
	}
	b := make([]byte, 16)
	n, err := e.Socket.Read(b)
	if err != nil {
		return err.Error()
	}
	e.Socket.Close()
	var ws syscall.WaitStatus
	end := time.AfterFunc(10*time.Second, func() { unix.Kill(e.Pid, unix.SIGKILL) })
	defer end.Stop()
	pid, err := syscall.Wait4(e.Pid, &ws, 0, nil)
	return fmt.Sprintf("%s, child %v, exited %d, %v", b[:n], pid == e.Pid, ws.ExitStatus(), err)
}

func TestEarlyProcess(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		for verb, want := range map[string]string{
			"guest-early":     "hello, child true, exited 0, <nil>",
			"guest-too-early": "none",
		} {
			b := startBox(t, func(s *Spec) { s.Argv = []string{"sandboxfsd", verb} })
			if got := b.Isolation()["early"]; got != want {
				t.Errorf("%s: %q, want %q", verb, got, want)
			}
			// Nothing of it is left to the commands.
			if got := b.sh(t, "ls /proc/self/fd | wc -w"); got != "4" {
				t.Errorf("%s: a command has %s descriptors", verb, got)
			}
			b.Close()
		}
	})
}
