package exec

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// guestReserve is how many processes (threads count) the guest keeps for itself
// under a limit that it shares with its commands.
const guestReserve = 64

// ownLimit derives the commands' limit from this process's RLIMIT_NPROC; 0 means
// none. A cgroup's limit is not looked at: it counts processes, RLIMIT_NPROC
// those of a user, who may have others elsewhere.
func ownLimit() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return 0
	}
	return l.Cur - min(guestReserve, l.Cur/4)
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
