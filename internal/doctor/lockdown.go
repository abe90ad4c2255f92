package doctor

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/sandboxfs/sandboxfs/exec/landlock"
	"github.com/sandboxfs/sandboxfs/exec/seccomp"
	"golang.org/x/sys/unix"
)

// onThread runs f on a thread that ends with it: what a thread has given up it
// does not get back.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- fmt.Errorf("prctl(PR_SET_NO_NEW_PRIVS): %w", err)
			return
		}
		result <- f()
	}()
	return <-result
}

func checkSeccomp(*machine) Finding {
	filter, err := seccomp.Assemble(seccomp.Policy{Tracing: seccomp.TracingAllowed})
	if err == nil {
		err = onThread(func() error {
			if err := seccomp.InstallThread(filter); err != nil {
				return err
			}
			// Refused by the filter to everybody, and harmless where it is not.
			if err := unix.Unshare(unix.CLONE_NEWUTS); !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) {
				return fmt.Errorf("a call that the filter refuses was answered: %v", err)
			}
			return nil
		})
	}
	if err != nil {
		return fail("the filter of system calls cannot be installed: "+err.Error(), noSandbox,
			"use a kernel with CONFIG_SECCOMP_FILTER; in a container '--security-opt seccomp=unconfined'")
	}
	return ok("the filter of system calls can be installed, and refuses")
}

func checkLandlock(*machine) Finding {
	abi := landlock.ABI()
	lost := "with the network 'host', commands can connect to this machine's abstract unix sockets"
	if !landlock.CanScope(abi) {
		detail, cure := fmt.Sprintf("ABI %d, without scopes", abi), "boot Linux 6.12 or newer, or use --net none"
		if abi == 0 {
			detail, cure = "there is none", "boot Linux 6.12 or newer with 'landlock' in the kernel's parameter lsm=, or use --net none"
		}
		return warn(detail, lost, cure)
	}
	if err := onThread(func() error { return landlock.ScopeThread(landlock.AbstractSockets | landlock.Signals) }); err != nil {
		return warn(fmt.Sprintf("ABI %d, but: %v", abi, err), lost, "in a container '--security-opt seccomp=unconfined'; or use --net none")
	}
	return ok(fmt.Sprintf("ABI %d: signals and abstract sockets can be scoped", abi))
}
