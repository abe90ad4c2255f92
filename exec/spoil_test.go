package exec

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spoilMain is a hostile command: it tries to change its slot for the commands
// that come after, and writes a line for each call that succeeds.
func spoilMain() {
	slot := os.Getppid()
	if os.Getpid() < 300 && slot != 1 {
		slot = 1
	}
	report := func(what string, target int, err error) {
		if err == nil {
			fmt.Printf("%s of %d succeeded\n", what, target)
		}
	}
	tasks := []int{slot}
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", slot)); err == nil {
		tasks = nil
		for _, e := range entries {
			var tid int
			fmt.Sscan(e.Name(), &tid)
			tasks = append(tasks, tid)
		}
	}
	one := unix.CPUSet{}
	one.Set(0)
	for _, tid := range tasks {
		for r := range limitKinds {
			low := unix.Rlimit{Cur: 1, Max: 1}
			report(fmt.Sprintf("prlimit %d", r), tid, unix.Prlimit(tid, r, &low, nil))
		}
		report("setpriority", tid, unix.Setpriority(unix.PRIO_PROCESS, tid, 15))
		report("setpriority of the group", tid, unix.Setpriority(unix.PRIO_PGRP, tid, 15))
		report("sched_setaffinity", tid, unix.SchedSetaffinity(tid, &one))
		report("sched_setattr", tid, unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: 15}, 0))
		var param int32
		_, _, e := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&param)))
		report("sched_setscheduler", tid, errOrNil(e))
		_, _, e = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, uintptr(tid), 3<<13)
		report("ioprio_set", tid, errOrNil(e))
		for name, value := range map[string]string{
			"oom_score_adj": "900", "oom_adj": "10", "timerslack_ns": "1000000000", "coredump_filter": "0", "loginuid": "5",
			"autogroup": "19", "clear_refs": "1", "comm": "x", "sched": "0", "attr/current": "x", "projid_map": "0 0 1", "mem": "x",
		} {
			for _, dir := range []string{fmt.Sprintf("/proc/%d/", tid), fmt.Sprintf("/proc/%d/task/%d/", slot, tid)} {
				report(dir+name, tid, os.WriteFile(dir+name, []byte(value), 0))
			}
		}
	}
	report("setpriority of the user", -1, unix.Setpriority(unix.PRIO_USER, 0, 15))
	report("setpriority of the user", os.Getuid(), unix.Setpriority(unix.PRIO_USER, os.Getuid(), 15))
	_, _, e := unix.Syscall(unix.SYS_IOPRIO_SET, 3, uintptr(os.Getuid()), 3<<13)
	report("ioprio_set of the user", os.Getuid(), errOrNil(e))
	unix.Umask(0o777)
	unix.SetNonblock(0, true)
	unix.Flock(0, unix.LOCK_EX)
	report("prlimit of itself", 0, func() error {
		// Its own values it may change.
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 20, Max: 20}, nil); err != nil {
			return nil
		}
		return unix.EPERM
	}())
	os.Exit(0)
}

func errOrNil(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// selfReport shows what a command inherits.
const selfReport = `ulimit -a; ulimit -Ha; nice; umask; grep -h -E '^(Cpus_allowed|Sig|Seccomp)' /proc/self/status; cat /proc/self/oom_score_adj /proc/self/coredump_filter; grep flags /proc/self/fdinfo/0; ionice 2>&1`

func TestSandboxSlotIsNotSpoilt(t *testing.T) {
	program := attackProgram(t)
	e := executor(t)
	before := run(t, e, script(selfReport))
	if o := run(t, e, Command{Argv: []string{program, "attack", "spoil", "exit"}, Dir: "/tmp", Env: testEnv}); o.stdout != "" || o.ExitCode != 0 {
		t.Errorf("%+v", o)
	}
	if n := slots(e); n != 1 {
		t.Errorf("%d slots: the attempt alone cost the slot", n)
	}
	if after := run(t, e, script(selfReport)); after.stdout != before.stdout {
		t.Errorf("before:\n%s\nafter:\n%s", before.stdout, after.stdout)
	}
}

// A slot that was changed all the same is not used again.
func TestSandboxSpoiltSlotIsDiscarded(t *testing.T) {
	e := executor(t)
	for name, spoil := range map[string]func(pid int) error{
		"limit": func(pid int) error {
			return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
		},
		"nice value": func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 5) },
		"I/O priority": func(pid int) error {
			_, _, err := unix.Syscall(unix.SYS_IOPRIO_SET, ioprioProcess, uintptr(pid), 3<<13)
			return errOrNil(err)
		},
	} {
		p := start(t, e, script("echo go; sleep 0.2"))
		expect(t, p, "go\n")
		if err := spoil(p.slot.pid); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		collect(t, p)
		next := start(t, e, script("true"))
		if next.slot == p.slot {
			t.Errorf("%s: the slot was used again", name)
		}
		collect(t, next)
	}
}
