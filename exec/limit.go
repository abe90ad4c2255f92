package exec

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// guestReserve is how many processes (threads count) the guest keeps for itself
// under a limit that it shares with its commands.
const guestReserve = 64

// processBounds are the limits of processes (threads count) that slots are given.
type processBounds struct {
	commands uint64 // what commands may have; 0: no limit is set
	ceiling  uint64 // what they and the slots may have; 0: commands, exactly
}

// guestTasks is how many threads of the guest are not held against commands.
const guestTasks = 32

// ownBounds derives the bounds from this process's RLIMIT_NPROC. Whoever starts
// the guest says by the soft limit what commands may have, and gives by a
// higher hard one room for the guest and the slots. A cgroup's limit is not
// looked at: it counts processes, RLIMIT_NPROC those of a user, who may have
// others elsewhere.
func ownBounds() (processBounds, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return processBounds{}, nil
	}
	if l.Max == unix.RLIM_INFINITY || l.Max <= l.Cur+guestReserve+guestTasks {
		return processBounds{commands: l.Cur - min(guestReserve, l.Cur/4)}, nil
	}
	b := processBounds{commands: l.Cur, ceiling: l.Max - guestReserve}
	l.Cur = l.Max
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &l); err != nil {
		return b, fmt.Errorf("setrlimit(RLIMIT_NPROC): %w", err)
	}
	return b, nil
}

// forSlot is the limit for a new slot when there are some. The kernel counts the
// slots' threads with the commands' processes, so each slot's own are added.
func (b processBounds) forSlot(slots int) uint64 {
	if b.ceiling == 0 {
		return b.commands
	}
	return min(b.commands+guestTasks+slotTasks*uint64(slots), b.ceiling)
}

// processLimit reports whether anything bounds the number of processes. Ending
// a fork bomb without namespaces is a matter of using the bound up.
func processLimit() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err == nil && l.Cur != unix.RLIM_INFINITY {
		return nil
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	for _, line := range strings.Split(string(own), "\n") {
		field := strings.SplitN(line, ":", 3)
		if len(field) != 3 {
			continue
		}
		var root string
		switch field[1] {
		case "":
			root = "/sys/fs/cgroup"
		case "pids":
			root = "/sys/fs/cgroup/pids"
		default:
			continue
		}
		for dir := field[2]; ; dir = path.Dir(dir) {
			b, err := os.ReadFile(path.Join(root, dir, "pids.max"))
			if err == nil && strings.TrimSpace(string(b)) != "max" {
				return nil
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return errors.New("no limit of processes: without pid namespaces commands run only under RLIMIT_NPROC or a cgroup's pids.max; set one of them")
}
