package guest

import (
	"context"
	"io"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"golang.org/x/sys/unix"
)

// launcher is what the guest needs of package exec.
type launcher interface {
	start(ctx context.Context, c exec.Command) (process, error)
}

// process is one running command. Its streams may be read after wait, and
// come to an end then, whoever else holds them.
type process interface {
	stdin() io.WriteCloser
	stdout() io.ReadCloser
	stderr() io.ReadCloser // nil with a terminal
	signal(number unix.Signal) error
	resize(exec.Size) error
	// terminate ends it: SIGTERM to its group, then its whole tree.
	terminate(grace time.Duration)
	// wait returns when the command's tree is gone.
	wait() (exec.Status, error)
}

// executorLauncher runs commands with the real [exec.Executor].
type executorLauncher struct{ e *exec.Executor }

func (l executorLauncher) start(ctx context.Context, c exec.Command) (process, error) {
	p, err := l.e.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return executorProcess{p}, nil
}

type executorProcess struct{ p *exec.Process }

func (x executorProcess) stdin() io.WriteCloser         { return x.p.Stdin }
func (x executorProcess) stdout() io.ReadCloser         { return x.p.Stdout }
func (x executorProcess) stderr() io.ReadCloser         { return x.p.Stderr }
func (x executorProcess) signal(n unix.Signal) error    { return x.p.Signal(n) }
func (x executorProcess) resize(s exec.Size) error      { return x.p.Resize(s) }
func (x executorProcess) terminate(grace time.Duration) { exec.Terminate(x.p, grace) }
func (x executorProcess) wait() (exec.Status, error)    { return x.p.Wait() }
