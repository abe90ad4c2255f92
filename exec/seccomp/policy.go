package seccomp

import "golang.org/x/sys/unix"

// Tracing says whether commands may trace other processes of the same user
// (ptrace, process_vm_readv, pidfd_getfd, kcmp).
type Tracing int

const (
	// TracingDenied refuses all tracing. It is for sandboxes in which one
	// command can see another's processes.
	TracingDenied Tracing = iota
	// TracingAllowed lets debuggers and strace work. It is for sandboxes in
	// which a command sees only its own tree and a non-dumpable pid 1.
	TracingAllowed
)

// verdict is the answer for one system-call number.
type verdict uint8

const (
	missing verdict = iota // ENOSYS: as if the kernel did not have it
	allow
	deny // EPERM
	checkClone
	checkSocket
	checkSocketpair
	checkIoctl
	checkPersonality
	checkTarget     // the first argument is a process
	checkLimit      // prlimit64
	checkPriority   // setpriority
	checkIOPriority // ioprio_set
)

// Policy is what differs between filters.
type Policy struct {
	Tracing Tracing
	// Above is a number of a process or thread: commands may change the
	// resource limits, priority, scheduling and processors of those with
	// higher numbers, and of themselves. It is for a command that sees its
	// own tree only, with what must be kept from it numbered first: in a new
	// pid namespace the kernel gives numbers in order, and does not start
	// again below 300. 0 means of themselves alone (number 0 in the calls).
	Above uint32
}

// numbers is one more than the largest number that may be listed.
const numbers = 512

// verdicts returns the answer for each number; every number from there on is
// missing.
func verdicts(p Policy) *[numbers]verdict {
	m := new([numbers]verdict)
	set := func(v verdict, lists ...[]uint32) {
		for _, l := range lists {
			for _, nr := range l {
				m[nr] = v
			}
		}
	}
	set(allow, ordinaryCalls, archOrdinaryCalls)
	set(deny, refusedCalls, archRefusedCalls)
	set(missing, absentCalls)
	if p.Tracing == TracingAllowed {
		set(allow, tracingCalls)
	} else {
		set(deny, tracingCalls)
	}
	m[unix.SYS_CLONE] = checkClone
	m[unix.SYS_SOCKET] = checkSocket
	m[unix.SYS_SOCKETPAIR] = checkSocketpair
	m[unix.SYS_IOCTL] = checkIoctl
	m[unix.SYS_PERSONALITY] = checkPersonality
	set(checkTarget, targetCalls)
	m[unix.SYS_PRLIMIT64] = checkLimit
	m[unix.SYS_SETPRIORITY] = checkPriority
	m[unix.SYS_IOPRIO_SET] = checkIOPriority
	return m
}

// cloneNamespaces are the flags of clone(2) that make namespaces. CLONE_NEWTIME
// is not among them: its bit belongs to the exit signal there.
const cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// socketFamilies are the address families of socket(2) that commands may use
// freely. AF_NETLINK is allowed besides for NETLINK_ROUTE alone, which the C
// library asks for interface addresses. Everything else is refused, above all
// AF_VSOCK, which no network namespace confines.
var socketFamilies = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// refusedIoctls put characters into a terminal's input as if they were typed.
var refusedIoctls = []uint32{unix.TIOCSTI, unix.TIOCLINUX}

// personalities are the values of personality(2) that commands may set: plain
// Linux, a 32-bit machine name, a 2.6 version number, both, a fixed address
// layout (debuggers, sanitizers), and the query.
var personalities = []uint32{0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff}

// targetCalls change a process or thread that they name by number: of one user
// the kernel lets each change every other, among them whoever starts the next
// command.
var targetCalls = []uint32{
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER,
}

// ioprioProcess is IOPRIO_WHO_PROCESS; the group is the next. (All processes of
// a user, the third, are more than a command's own.)
const ioprioProcess = 1

// tracingCalls depend on [Tracing].
var tracingCalls = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
}

// absentCalls were judged and answer ENOSYS, because their callers then fall
// back to something that works. clone3's flags lie behind a pointer; the mount
// queries have /proc/self/mountinfo as their older form.
var absentCalls = []uint32{
	unix.SYS_CLONE3, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS,
	unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
}

// refusedCalls answer EPERM. By group: namespaces, mounts (every entry point,
// old and new), keys (they cross namespaces of one uid), interfaces with a long
// history of kernel faults that no ordinary program needs, other people's
// memory placement, and the administration of the machine.
var refusedCalls = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS,

	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,

	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,

	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_BPF,
	unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,

	unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,

	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_LSM_SET_SELF_ATTR,
}
