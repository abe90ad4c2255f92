// This file runs in a slot, before and after each command.

package exec

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitKinds is how many resource limits there are.
const limitKinds = 16

// selfState is what a process of the same user can change of a slot by its
// number, and what every later command of the slot would inherit.
type selfState struct {
	limits  [limitKinds]unix.Rlimit
	threads map[int]threadState
}

// threadState is the part that each thread has for itself.
type threadState struct {
	scheduling unix.SchedAttr // policy, nice value, clamps
	processors unix.CPUSet
	io         uintptr // I/O priority
}

// readSelf reads the slot's own state.
func readSelf() selfState {
	st := selfState{threads: map[int]threadState{}}
	for r := range st.limits {
		unix.Prlimit(0, r, nil, &st.limits[r])
	}
	for _, tid := range ownThreads() {
		var th threadState
		if a, err := unix.SchedGetAttr(tid, 0); err == nil {
			th.scheduling = *a
		}
		unix.SchedGetaffinity(tid, &th.processors)
		th.io, _, _ = unix.Syscall(unix.SYS_IOPRIO_GET, ioprioProcess, uintptr(tid), 0)
		st.threads[tid] = th
	}
	return st
}

// ioprioProcess is IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// spoilt reports whether a slot whose state was before is not what it was. The
// filter refuses a command all calls that could do it, but for a thread of the
// slot that was born late and so has a number among the command's; without a
// filter this is all there is.
func (now selfState) spoilt(before selfState) bool {
	if now.limits != before.limits {
		return true
	}
	reference := before.threads[os.Getpid()] // a new thread is born like any other
	for tid, th := range now.threads {
		old, known := before.threads[tid]
		if !known {
			old = reference
		}
		if th != old {
			return true
		}
	}
	return false
}

// ownThreads lists the numbers of this process's threads.
func ownThreads() []int {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	tids := make([]int, 0, len(names))
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// highestThread is the highest number among this process's threads.
func highestThread() uint32 {
	highest := 0
	for _, tid := range ownThreads() {
		highest = max(highest, tid)
	}
	return uint32(highest)
}
