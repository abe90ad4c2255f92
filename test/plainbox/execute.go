package plainbox

import (
	"context"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Execute implements [provider.Sandbox]: in a process group of the host, which
// is killed when its leader has ended.
func (s *Sandbox) Execute(ctx context.Context, c provider.Command) (*provider.Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Session != "" {
		return nil, &provider.Error{Kind: provider.Invalid, Op: "execute", Reason: "this sandbox keeps no sessions", Next: "leave the session out"}
	}
	argv := c.Argv
	if c.Script != "" {
		argv = []string{"/bin/bash", "--noprofile", "--norc", "-c", c.Script}
	}
	for i, a := range argv {
		if len(c.Argv) > 0 && len(a) > 5 && a[:5] == "/mnt/" {
			argv[i] = s.host(a)
		}
	}
	dir := s.host(mapping.Workspace)
	if c.Dir != "" {
		dir = s.host(c.Dir)
	}
	cmd := osexec.Command(argv[0], argv[1:]...) //nolint:noctx // its group is killed, below
	cmd.Dir, cmd.Stdin = dir, c.Stdin
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "LANG=C.UTF-8"}
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, stderr, err := s.temps()
	if err != nil {
		return nil, provider.FromErrno("execute", "", err)
	}
	defer stdout.Close()
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Op: "execute", Reason: "it cannot be started", Err: err}
	}
	res, err := wait(ctx, cmd, c.Timeout)
	if err != nil {
		return nil, err
	}
	res.Duration = time.Since(begun)
	if res.Stdout, err = output(stdout, c.MaxOutput); err == nil {
		res.Stderr, err = output(stderr, c.MaxOutput)
	}
	return res, err
}

// temps are two files without names.
func (s *Sandbox) temps() (a, b *os.File, err error) {
	for _, f := range []**os.File{&a, &b} {
		if *f, err = os.CreateTemp(s.root, "stream"); err != nil {
			return nil, nil, err
		}
		_ = os.Remove((*f).Name())
	}
	return a, b, nil
}

func wait(ctx context.Context, cmd *osexec.Cmd, timeout time.Duration) (*provider.Result, error) {
	if timeout == 0 {
		timeout = provider.DefaultTimeout
	}
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	res := &provider.Result{}
	select {
	case <-done:
	case <-ctx.Done():
		kill()
		<-done
		return nil, provider.FromErrno("execute", "", ctx.Err())
	case <-late:
		kill()
		<-done
		res.TimedOut, res.ExitCode = true, provider.ExitTimeout
		return res, nil
	}
	if syscall.Kill(-cmd.Process.Pid, 0) == nil {
		res.LeftRunning = 1 // or more: a group does not tell
		kill()
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if res.ExitCode = status.ExitStatus(); status.Signaled() {
		res.Signal = int(status.Signal())
		res.ExitCode = provider.ExitSignalBase + res.Signal
	}
	return res, nil
}

func output(f *os.File, most int64) (provider.Output, error) {
	if most == 0 {
		most = provider.DefaultMaxOutput
	}
	h := exec.NewHeadTail(most)
	_, err := f.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(h, f)
	}
	if err != nil {
		return provider.Output{}, errors.New("plainbox: the output cannot be read back")
	}
	return provider.Output{Head: h.Head(), Tail: h.Tail(), Omitted: h.Omitted()}, nil
}
