package exec

import (
	"runtime"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"golang.org/x/sys/unix"
)

// early starts a slot's process the way a guest does before its second
// execution, and gives it to the executor.
func early(t *testing.T, also func(pid int)) *Executor {
	t.Helper()
	if inSandbox(t) != "namespace" {
		testenv.SkipArchitectural(t, "without pid namespaces there are no early slots")
	}
	return executor(t, func(c *Config) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		// As a guest does, whose soft limit is still the commands'.
		var plain, soft unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NPROC, &plain); err != nil {
			t.Fatal(err)
		}
		soft = unix.Rlimit{Cur: plain.Cur / 2, Max: plain.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &soft); err != nil {
			t.Fatal(err)
		}
		pid, socket, err := StartEarly(*c)
		unix.Setrlimit(unix.RLIMIT_NPROC, &plain)
		if err != nil {
			t.Fatal(err)
		}
		also(pid)
		c.Early = &Early{Pid: pid, Socket: socket}
	})
}

func onlySlot(t *testing.T, e *Executor) (pid int, l unix.Rlimit) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.idle) != 1 || len(e.live) != 1 {
		t.Fatalf("%d slots, %d idle", len(e.live), len(e.idle))
	}
	pid = e.idle[0].pid
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &l); err != nil {
		t.Fatal(err)
	}
	return pid, l
}

func TestSandboxEarlySlotIsTheFirst(t *testing.T) {
	started := 0
	e := early(t, func(pid int) { started = pid })
	pid, limit := onlySlot(t, e)
	if pid != started {
		t.Errorf("the slot is process %d, want %d", pid, started)
	}
	other := executor(t)
	if _, want := onlySlot(t, other); limit != want {
		t.Errorf("its limit of processes is %+v, another slot's %+v", limit, want)
	}
	if o := run(t, e, script("echo $$; exit 3")); o.stdout == "" || o.ExitCode != 3 {
		t.Errorf("%+v", o)
	}
	if again, _ := onlySlot(t, e); again != started {
		t.Errorf("after a command the slot is process %d, want %d", again, started)
	}
}

func TestSandboxDeadEarlySlotIsReplaced(t *testing.T) {
	started := 0
	e := early(t, func(pid int) {
		started = pid
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		// Dead, and not reaped: its signal came before anybody asked for it.
		if _, err := peekEnded(unix.P_PID, pid, 0); err != nil {
			t.Fatal(err)
		}
	})
	if pid, _ := onlySlot(t, e); pid == started {
		t.Error("the dead process is taken for a slot")
	}
	if o := run(t, e, script("echo hi")); o.stdout != "hi\n" {
		t.Errorf("%+v", o)
	}
	waitFor(t, "the dead process to be reaped", func() bool { return unix.Kill(started, 0) == unix.ESRCH })
}
