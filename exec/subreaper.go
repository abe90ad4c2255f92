// This file runs in a slot without namespaces (a subreaper), and in the guest
// when it adopts what a dead slot left behind.

package exec

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// subtree is everything below this process, apart from the children to spare.
//
// A subreaper gets every orphan of its tree, so what is alive is always below
// it. Walking the tree and killing is a race that forkers can win. So: kill
// direct children only, list them again, and reap nothing until a list shows no
// new child and only dead ones. The dead keep their numbers (nothing else can be
// hit), and they use up the limit of processes: each escape costs one of a
// finite number. Without a limit there is no bound, which is why this form is
// refused without one.
type subtree struct {
	spare func(pid int) bool // children that are not part of it
	slow  func()             // called once when there is something to wait for
}

func newSubtree() *subtree {
	return &subtree{spare: func(int) bool { return false }, slow: func() {}}
}

// sweep ends the subtree and returns how many processes it had to kill.
func (t *subtree) sweep() (killed int) {
	told := false
	if _, err := peekEnded(unix.P_ALL, 0, unix.WNOHANG); err == unix.ECHILD {
		return 0 // the usual case
	}
	for {
		seen := map[int]bool{}
		for {
			fresh, alive := 0, 0
			for _, pid := range children() {
				if t.spare(pid) {
					continue
				}
				dead := isDead(pid)
				if !seen[pid] {
					seen[pid] = true
					fresh++
					if !dead {
						killed++
					}
				}
				if !dead {
					alive = pid
					unix.Kill(pid, unix.SIGKILL)
				}
			}
			if fresh == 0 && alive == 0 {
				break
			}
			if !told {
				told = true
				t.slow()
			}
			if alive != 0 {
				awaitDeath(alive)
			}
		}
		if len(seen) == 0 {
			return killed
		}
		for pid := range seen {
			for {
				if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
					break
				}
			}
		}
	}
}

// isDead reports whether a child has ended and waits to be reaped.
func isDead(pid int) bool {
	got, err := peekEnded(unix.P_PID, pid, unix.WNOHANG)
	return err != nil || got == pid
}

// awaitDeath waits up to 10 ms for a killed child to end.
func awaitDeath(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10)
	unix.Close(fd)
}

// children lists this process's direct children, living and dead. While none is
// reaped the list of the kernel is complete.
func children() []int {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var pids []int
	for _, th := range threads {
		b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%s/children", th.Name()))
		if err != nil {
			continue
		}
		for _, f := range bytes.Fields(b) {
			if pid, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
