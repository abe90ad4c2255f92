package landlock

import (
	"fmt"
	"net"
	osexec "os/exec"
	"runtime"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

func TestCanScope(t *testing.T) {
	for abi, want := range map[int]bool{0: false, 5: false, 6: true, 9: true} {
		if CanScope(abi) != want {
			t.Errorf("ABI %d", abi)
		}
	}
}

// TestScopeThread lets a thread of its own enter a domain: the thread and what
// it starts reach nothing outside, the rest of the process is as before.
func TestScopeThread(t *testing.T) {
	if abi := ABI(); !CanScope(abi) {
		testenv.SkipArchitectural(t, fmt.Sprintf("the kernel's Landlock ABI is %d; scoping needs %d (Linux 6.12)", abi, scopeABI))
	}
	name := "@sandboxfs-landlock-test-" + t.TempDir()
	outside, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	victim := osexec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()

	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // ends with the goroutine
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Error(err)
			return
		}
		if err := ScopeThread(Signals | AbstractSockets); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Kill(victim.Process.Pid, 0); err != unix.EPERM {
			t.Errorf("signal out of the domain: %v", err)
		}
		child := osexec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			t.Error(err)
			return
		}
		if err := unix.Kill(child.Process.Pid, unix.SIGKILL); err != nil {
			t.Errorf("signal inside the domain: %v", err)
		}
		child.Wait()
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != unix.EPERM {
			t.Errorf("connect out of the domain: %v", err)
		}
	}()
	<-done
	if err := unix.Kill(victim.Process.Pid, 0); err != nil {
		t.Errorf("another thread was scoped too: %v", err)
	}
	if c, err := net.Dial("unix", name); err != nil {
		t.Errorf("another thread was scoped too: %v", err)
	} else {
		c.Close()
	}
}
