package jail

// A sandbox is shared by everybody who uses the same tree, so what the process
// that happened to start it was limited to must not stick to it. What only a
// privileged process can regain is regained when it is one, and is reported
// otherwise.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// limitNames are the resource limits by number.
var limitNames = [...]string{
	unix.RLIMIT_CPU: "cpu", unix.RLIMIT_FSIZE: "fsize", unix.RLIMIT_DATA: "data", unix.RLIMIT_STACK: "stack",
	unix.RLIMIT_CORE: "core", unix.RLIMIT_RSS: "rss", unix.RLIMIT_NPROC: "nproc", unix.RLIMIT_NOFILE: "nofile",
	unix.RLIMIT_MEMLOCK: "memlock", unix.RLIMIT_AS: "as", rlimitLocks: "locks", rlimitSigpending: "sigpending",
	rlimitMsgqueue: "msgqueue", rlimitNice: "nice", rlimitRtprio: "rtprio", rlimitRttime: "rttime",
}

// Numbers that x/sys does not name.
const (
	rlimitLocks      = 10
	rlimitSigpending = 11
	rlimitMsgqueue   = 12
	rlimitNice       = 13
	rlimitRtprio     = 14
	rlimitRttime     = 15
)

// plainHard are the hard limits that a sandbox is to have at least, before its
// own are set.
var plainHard = [...]struct {
	resource int
	hard     uint64
}{
	{unix.RLIMIT_FSIZE, unix.RLIM_INFINITY}, {unix.RLIMIT_CPU, unix.RLIM_INFINITY}, {unix.RLIMIT_AS, unix.RLIM_INFINITY},
	{unix.RLIMIT_DATA, unix.RLIM_INFINITY}, {unix.RLIMIT_NPROC, unix.RLIM_INFINITY}, {unix.RLIMIT_STACK, 8 << 20},
	{unix.RLIMIT_NOFILE, 4096}, {unix.RLIMIT_MEMLOCK, 64 << 10},
}

// neutralThread gives the calling thread, which forks pid 1, the ordinary
// priorities and all processors.
func neutralThread() {
	// Each as far as it is allowed: pid 1 reports what it got.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 0)
	var param int32
	_, _, _ = unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, uintptr(unsafe.Pointer(&param)))
	const ioprioProcess = 1
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, 0, 0)
	var all unix.CPUSet
	for i := range all {
		all[i] = ^all[i]
	}
	_ = unix.SchedSetaffinity(0, &all) // the kernel cuts it to what there is
}

// freeChild raises what pid 1 has inherited, from outside. (Or what the caller
// has, by its own number.)
func freeChild(pid int) {
	for _, l := range plainHard {
		var old unix.Rlimit
		if unix.Prlimit(pid, l.resource, nil, &old) == nil && old.Max < l.hard {
			// Needs CAP_SYS_RESOURCE; root in a container may be without.
			_ = unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: l.hard, Max: l.hard}, nil)
		}
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("0"), 0)
}

// ShedLimits frees the calling process of limits that it was born with, as far
// as it is allowed: resource limits, nice value, OOM score. A process that
// serves a sandbox for everybody calls it first; its children are free of the
// same. Limits on open files and on the stack stay the caller's business.
func ShedLimits() {
	freeChild(os.Getpid())
	raiseSoft()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, th := range threads { // later threads are born like these
		if tid, err := strconv.Atoi(th.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, 0) // down needs CAP_SYS_NICE
		}
	}
}

// raiseSoft raises soft limits to the hard ones in pid 1, so that building the
// world does not fail under them.
func raiseSoft() {
	for r := range limitNames {
		var l syscall.Rlimit
		if r == unix.RLIMIT_STACK || r == unix.RLIMIT_NOFILE || syscall.Getrlimit(r, &l) != nil || l.Cur == l.Max {
			continue
		}
		l.Cur = l.Max
		_ = syscall.Setrlimit(r, &l) // always allowed
	}
}

// inherited says in short words what of the starting process's limits could not
// be shed; "" is nothing.
func inherited(w *world) string {
	var found []string
	for _, l := range plainHard {
		hard := l.hard
		if l.resource == unix.RLIMIT_NPROC {
			if w.Pids <= 0 || !w.OwnUserNS {
				continue
			}
			hard = uint64(w.Pids)
		}
		var old syscall.Rlimit
		if syscall.Getrlimit(l.resource, &old) == nil && old.Max < hard {
			found = append(found, fmt.Sprintf("%s %d", limitNames[l.resource], old.Max))
		}
	}
	// The raw call answers 20 minus the value.
	if n, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && n != 20 {
		found = append(found, fmt.Sprintf("nice value %d", 20-n))
	}
	if b, err := os.ReadFile("/proc/self/oom_score_adj"); err == nil {
		if adj := strings.TrimSpace(string(b)); adj != "0" {
			found = append(found, "oom_score_adj "+adj)
		}
	}
	return strings.Join(found, ", ")
}
