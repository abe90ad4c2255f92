// This file runs in a slot, before any untrusted code.

package exec

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/exec/landlock"
	"github.com/sandboxfs/sandboxfs/exec/procmask"
	"github.com/sandboxfs/sandboxfs/exec/seccomp"
)

// slotOOMScore makes the kernel prefer commands and slots to the guest when
// memory runs out.
const slotOOMScore = "200"

// slotThreads is how many threads a slot keeps to spare. Besides the two that
// have their places, and those of the runtime, it never blocks in a call.
const slotThreads = 1

// slotTasks is how many threads a slot has at most, all told.
const slotTasks = 9

// lockDown makes the slot's own /proc, then gives up everything: capabilities
// of all sets on all threads, new privileges, and the system calls that the
// filter refuses. The order matters: mounting needs the capability, and the
// filter refuses mount.
func (s *slot) lockDown(c slotConfig) error {
	s.form = c.form
	unix.Umask(0o022)
	os.WriteFile("/proc/self/oom_score_adj", []byte(slotOOMScore), 0) // best effort
	switch c.form {
	case formNamespace:
		if err := mountProc(); err != nil {
			return err
		}
	case formSubreaper:
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
		}
	default:
		return fmt.Errorf("receive settings: %w", errWire)
	}
	forker := make(chan error)
	s.unconfined = c.unconfined
	go s.forker(forker)
	<-forker // the thread is there, with an empty bounding set where confined
	if c.unconfined {
		return s.lockDownUnconfined(c, forker)
	}
	if err := dropPrivileges(); err != nil {
		return err
	}
	if !c.unscoped {
		s.landlockABI = landlock.ABI()
	}
	reserveThreads(slotThreads)
	policy := seccomp.Policy{Tracing: seccomp.TracingAllowed}
	if c.form == formNamespace {
		// The first numbers of the namespace are the slot's threads, whatever
		// comes later is the command's.
		policy.Above = highestThread()
	} else if !canScope(s.landlockABI) {
		policy.Tracing = seccomp.TracingDenied // neighbours are visible and not scoped
	}
	filter, err := seccomp.Assemble(policy)
	if err != nil {
		return err
	}
	if err := seccomp.InstallProcess(filter); err != nil {
		return err
	}
	return s.settle(c, forker)
}

// lockDownUnconfined takes from an unprivileged user's slot the capability
// that made its namespaces, which is not the user's, and nothing else.
func (s *slot) lockDownUnconfined(c slotConfig, forker chan error) error {
	if os.Geteuid() != 0 {
		if err := dropPrivileges(); err != nil {
			return err
		}
	}
	reserveThreads(slotThreads)
	return s.settle(c, forker)
}

// settle finishes the thread that forks and what else the slot needs to run.
func (s *slot) settle(c slotConfig, forker chan error) error {
	forker <- nil
	if err := <-forker; err != nil {
		return err
	}
	// Last, since other commands may have used up what is left for this one.
	if c.maxProcesses > 0 {
		if err := lowerLimit(unix.RLIMIT_NPROC, c.maxProcesses); err != nil {
			return fmt.Errorf("setrlimit(RLIMIT_NPROC): %w", err)
		}
	}
	s.self = readSelf()
	return nil
}

// mountProc covers /proc with one of the slot's own pid namespace, so that what
// a command reads there is its own tree and matches its own pids. The mount
// namespace is the slot's; making it private first keeps the guest's as it is.
func mountProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount / private: %w", err)
	}
	covers := coverDirs()
	defer covers.close()
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, name := range procmask.Files() {
		if err := unix.Mount("/dev/null", "/proc/"+name, "", unix.MS_BIND, ""); err != nil && err != unix.ENOENT {
			return fmt.Errorf("cover /proc/%s: %w", name, err)
		}
	}
	for name, fd := range covers {
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, "/proc/"+name, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("cover /proc/%s: %w", name, err)
		}
	}
	return nil
}

// procCovers are copies of what covers directories of the guest's /proc, by
// name.
type procCovers map[string]int

// coverDirs copies them, those that there are. Where the guest's own /proc is
// not covered the copies show what they would cover.
func coverDirs() procCovers {
	covers := procCovers{}
	for _, name := range procmask.Dirs() {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/proc/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			covers[name] = fd
		}
	}
	return covers
}

func (c procCovers) close() {
	for _, fd := range c {
		unix.Close(fd)
	}
}

// dropBounding empties the calling thread's bounding set, which its children
// inherit. It can only be done with CAP_SETPCAP; a guest without it has emptied
// its own. What is left in the set cannot be gained under no_new_privs.
func dropBounding() {
	for c := uintptr(0); ; c++ {
		present, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			return // beyond the kernel's last capability
		}
		if present != 0 && unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
			return
		}
	}
}

// dropPrivileges sets no_new_privs and empties the capability sets, on all
// threads.
func dropPrivileges() error {
	if nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || nnp == 0 {
		if err := onAllThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
			return fmt.Errorf("prctl(PR_SET_NO_NEW_PRIVS): %w", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if held, err := capabilities(); err == nil && held == none {
		return nil
	}
	// Ambient capabilities go with the permitted and inheritable ones.
	if err := onAllThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// capabilities returns the calling thread's three main sets.
func capabilities() (data [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	err = unix.Capget(&header, &data[0])
	return data, err
}

// onAllThreads makes a system call on every thread of the process. A program
// built with cgo cannot; a slot must be a static one.
func onAllThreads(trap, a1, a2, a3 uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall(trap, a1, a2, a3)
	if errno == syscall.ENOTSUP {
		return errors.New("not possible in a program built with cgo; build it with CGO_ENABLED=0")
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// lowerLimit lowers both values of a resource limit; it never raises one.
func lowerLimit(resource int, to uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	if l.Max <= to && l.Cur <= to {
		return nil
	}
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: min(l.Cur, to), Max: min(l.Max, to)})
}

func canScope(abi int) bool { return landlock.CanScope(abi) }
