// Package landlock puts the calling thread into a Landlock domain that scopes
// what leaves a command: signals, and connections to abstract unix sockets. It
// restricts no file access; the mount namespace does that.
//
// Landlock is per thread: a domain holds the thread that enters it and what
// that thread starts afterwards, and there is no way out. So the calls here are
// for a locked thread that forks a command and then ends. Scoping exists from
// ABI 6 (Linux 6.12); on an older kernel callers go without and say so.
package landlock

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Scope is a set of things that a domain keeps inside itself.
type Scope uint64

const (
	// AbstractSockets refuses connections to abstract unix sockets that were
	// made outside the domain.
	AbstractSockets Scope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	// Signals refuses signals to processes outside the domain.
	Signals Scope = unix.LANDLOCK_SCOPE_SIGNAL
)

// scopeABI is the first ABI with both scopes.
const scopeABI = 6

// rulesetAttr is struct landlock_ruleset_attr up to ABI 6.
type rulesetAttr struct {
	handledAccessFS  uint64
	handledAccessNet uint64
	scoped           uint64
}

// ABI returns the kernel's Landlock ABI version, 0 where there is none (not
// built in, switched off, or refused by a filter).
func ABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// CanScope reports whether an ABI version has scopes.
func CanScope(abi int) bool { return abi >= scopeABI }

// ScopeThread makes a new domain with the scopes and moves the calling thread
// into it. The caller holds the thread ([runtime.LockOSThread]), has set
// no_new_privs on it, and never gives it back to other goroutines. The error
// is EOPNOTSUPP or ENOSYS where there is no Landlock, E2BIG or EINVAL before
// ABI 6.
func ScopeThread(s Scope) error {
	attr := rulesetAttr{scoped: uint64(s)}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	unix.Close(int(fd))
	if errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}
