package jail

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

// closeLimit bounds how long Close waits for pid 1 and its cgroup to go.
const closeLimit = 5 * time.Second

// Jail is a running sandbox, seen from the host. Its methods are safe for
// concurrent use.
type Jail struct {
	control   *net.UnixConn
	child     *child // pid 1, nil when it was not started
	group     *cgroup.Group
	isolation map[string]string
	done      chan struct{} // closed when pid 1 is reaped, or never began
	ended     error         // how it ended; read after done
	closing   sync.Once
}

// Wait returns when pid 1 has ended, and with it every process of the sandbox
// and every mount in it. The error says how it ended when that was not by its
// own exit with status 0.
func (j *Jail) Wait() error {
	<-j.done
	if j.ended != nil {
		return fmt.Errorf("the sandbox's guest ended: %w", j.ended)
	}
	return nil
}

// Done is closed when Wait would return at once.
func (j *Jail) Done() <-chan struct{} { return j.done }

// Kill ends every process of the sandbox at once, with SIGKILL to its pid 1.
// It does not wait.
func (j *Jail) Kill() {
	if j.child != nil {
		j.child.kill()
	}
}

// Pid returns the host's number of pid 1.
func (j *Jail) Pid() int {
	if j.child == nil {
		return 0
	}
	return j.child.pid
}

// Isolation says in short words what separates the sandbox from the host:
// keys tier, net, userns, uid, fuse, proc, caps, cgroup, limits and so on. The map is
// the caller's own.
func (j *Jail) Isolation() map[string]string { return maps.Clone(j.isolation) }

// Close kills the sandbox, waits for its end and removes its cgroup. A pid 1
// that waits for the tree ends only when its server is closed, so the caller
// closes that first or at the same time; Close gives up waiting after five
// seconds and what is left ends when the server does. Further calls do
// nothing.
func (j *Jail) Close() {
	j.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		if j.control != nil {
			j.control.Close()
		}
		j.Kill()
		if j.child != nil {
			select {
			case <-j.done:
			case <-ctx.Done():
			}
		}
		if j.group != nil {
			// What is left is found by name later: cgroup.Leftovers.
			_ = j.group.Remove(ctx)
		}
	})
}
