package jail

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a child process of this one. Package os would do, but it starts a
// process first to find out whether pidfds can be had, which takes as long as
// starting pid 1 itself does.
type child struct {
	pid int

	mu     sync.Mutex // held over kill and reap, so that no number is stale
	reaped bool
}

// startChild starts a program on the calling thread; its descriptors are files,
// in their order.
func startChild(program string, argv, env []string, files []*os.File, sys *syscall.SysProcAttr) (*child, error) {
	attr := &syscall.ProcAttr{Dir: "/", Env: env, Sys: sys}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, err := syscall.ForkExec(program, argv, attr)
	runtime.KeepAlive(files)
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: program, Err: err}
	}
	return &child{pid: pid}, nil
}

// kill sends SIGKILL. What has ended already is as asked for.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = unix.Kill(c.pid, unix.SIGKILL)
	}
}

// wait returns when the process has ended, once. The error says how it ended
// when that was not with status 0.
func (c *child) wait() error {
	for { // leaves it to be reaped, since kill may want its number until then
		err := unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return fmt.Errorf("waitid: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.pid, &ws, 0, nil)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return fmt.Errorf("wait4: %w", err)
		}
	}
	c.reaped = true
	switch {
	case ws.Signaled():
		return fmt.Errorf("signal: %v", ws.Signal())
	case ws.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", ws.ExitStatus())
	}
	return nil
}
