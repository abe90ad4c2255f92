package guest

import (
	"io"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/exec/shell"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// sessionRun is a command of a session, as a [process].
type sessionRun struct {
	run    *shell.Run
	done   chan struct{} // closed when what follows is final
	status exec.Status
	change *provider.SessionChange
	keep   func(*provider.SessionChange)
}

func (r *sessionRun) stdin() io.WriteCloser            { return r.run.Stdin }
func (r *sessionRun) stdout() io.ReadCloser            { return r.run.Stdout }
func (r *sessionRun) stderr() io.ReadCloser            { return r.run.Stderr }
func (r *sessionRun) signal(n unix.Signal) error       { return r.run.Signal(n) }
func (r *sessionRun) resize(exec.Size) error           { return unix.ENOTTY }
func (r *sessionRun) terminate(grace time.Duration)    { r.run.Terminate(grace) }
func (r *sessionRun) session() *provider.SessionChange { return r.change }

// untold is called where the result reached nobody.
func (r *sessionRun) untold() {
	if r.change != nil {
		r.keep(r.change)
	}
}

func (r *sessionRun) wait() (exec.Status, error) {
	<-r.done
	return r.status, nil
}
