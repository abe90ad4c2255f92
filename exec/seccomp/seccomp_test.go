package seccomp

import (
	"encoding/binary"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answer runs the filter in a virtual machine. That one reads words as the
// network does, so the data is written that way round.
func answer(t testing.TB, p Policy, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	raw, err := Assemble(p)
	if err != nil {
		t.Fatal(err)
	}
	instructions := make([]bpf.Instruction, len(raw))
	for i, r := range raw {
		instructions[i] = r.Disassemble()
		if ret, ok := instructions[i].(bpf.RetConstant); ok {
			// The machine cuts answers to the packet's length.
			instructions[i] = bpf.RetConstant{Val: short[ret.Val]}
		}
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offNumber:], nr)
	binary.BigEndian.PutUint32(data[offArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offArg0+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offArg0+8*i+4:], uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	for long, s := range short {
		if s == uint32(got) {
			return long
		}
	}
	t.Fatalf("answer %d", got)
	return 0
}

var short = map[uint32]uint32{retAllow: 1, retPerm: 2, retMissing: 3, retKill: 4}

var names = map[uint32]string{retAllow: "allow", retPerm: "EPERM", retMissing: "ENOSYS", retKill: "kill"}

func TestFilter(t *testing.T) {
	const minus = ^uint64(0)
	for _, tt := range []struct {
		name string
		nr   uint32
		args []uint64
		want uint32
	}{
		{"read", unix.SYS_READ, nil, retAllow},
		{"execve", unix.SYS_EXECVE, nil, retAllow},
		{"landlock_restrict_self", unix.SYS_LANDLOCK_RESTRICT_SELF, nil, retAllow},
		{"mount", unix.SYS_MOUNT, nil, retPerm},
		{"open_tree_attr", 467, nil, retPerm},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, nil, retPerm},
		{"keyctl", unix.SYS_KEYCTL, nil, retPerm},
		{"unshare", unix.SYS_UNSHARE, nil, retPerm},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, nil, retPerm},
		{"clone3", unix.SYS_CLONE3, nil, retMissing},
		{"newer than known", 500, nil, retMissing},
		{"x32", 0x40000000 | unix.SYS_READ, nil, retMissing},
		{"negative", 0xffffffff, nil, retMissing},
		{"fork by clone", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, retAllow},
		{"thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, retAllow},
		{"clone with upper half", unix.SYS_CLONE, []uint64{1<<32 | unix.CLONE_NEWUSER}, retPerm},
		{"new user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | unix.CLONE_VM}, retPerm},
		{"new network", unix.SYS_CLONE, []uint64{unix.CLONE_NEWNET}, retPerm},
		{"unix socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, 1, 0}, retAllow},
		{"inet", unix.SYS_SOCKET, []uint64{unix.AF_INET, 1, 6}, retAllow},
		{"inet6", unix.SYS_SOCKET, []uint64{unix.AF_INET6, 2, 0}, retAllow},
		{"route netlink", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, 3, unix.NETLINK_ROUTE}, retAllow},
		{"netfilter netlink", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, 3, unix.NETLINK_NETFILTER}, retPerm},
		{"packet", unix.SYS_SOCKET, []uint64{unix.AF_PACKET, 3, 0}, retPerm},
		{"vsock", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, 1, 0}, retPerm},
		{"alg", unix.SYS_SOCKET, []uint64{unix.AF_ALG, 5, 0}, retPerm},
		{"bluetooth", unix.SYS_SOCKET, []uint64{unix.AF_BLUETOOTH, 1, 0}, retPerm},
		{"unspecified", unix.SYS_SOCKET, []uint64{0, 1, 0}, retPerm},
		{"family with upper half", unix.SYS_SOCKET, []uint64{1<<32 | unix.AF_VSOCK, 1, 0}, retPerm},
		{"socketpair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX}, retAllow},
		{"socketpair tipc", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC}, retPerm},
		{"TCGETS", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, retAllow},
		{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, retPerm},
		{"TIOCSTI with upper half", unix.SYS_IOCTL, []uint64{0, 1<<32 | unix.TIOCSTI}, retPerm},
		{"TIOCLINUX", unix.SYS_IOCTL, []uint64{0, unix.TIOCLINUX}, retPerm},
		{"personality query", unix.SYS_PERSONALITY, []uint64{0xffffffff}, retAllow},
		{"personality query, extended", unix.SYS_PERSONALITY, []uint64{minus}, retAllow},
		{"personality plain", unix.SYS_PERSONALITY, []uint64{0}, retAllow},
		{"fixed layout", unix.SYS_PERSONALITY, []uint64{0x40000}, retAllow},
		{"executable data", unix.SYS_PERSONALITY, []uint64{0x400000}, retPerm},
	} {
		if got := answer(t, Policy{Tracing: TracingAllowed}, auditArch, tt.nr, tt.args...); got != tt.want {
			t.Errorf("%s: want %s, got %s", tt.name, names[tt.want], names[got])
		}
	}
	if got := answer(t, Policy{Tracing: TracingAllowed}, unix.AUDIT_ARCH_I386, 1); got != retKill {
		t.Errorf("another architecture: %s", names[got])
	}
	for _, nr := range tracingCalls {
		if got := answer(t, Policy{Tracing: TracingAllowed}, auditArch, nr); got != retAllow {
			t.Errorf("tracing call %d: %s", nr, names[got])
		}
		if got := answer(t, Policy{}, auditArch, nr); got != retPerm {
			t.Errorf("tracing call %d denied: %s", nr, names[got])
		}
	}
}

// A command changes itself, and others only where they are surely its own.
func TestFilterTargets(t *testing.T) {
	const pointer, high = 0x7ff000001000, 0x100000000
	for _, tt := range []struct {
		name  string
		nr    uint32
		args  []uint64
		alone uint32 // answer with Above 0
		tree  uint32 // answer with Above 9
	}{
		{"own limit", unix.SYS_PRLIMIT64, []uint64{0, 1, pointer}, retAllow, retAllow},
		{"limit of pid 1", unix.SYS_PRLIMIT64, []uint64{1, 1, pointer}, retPerm, retPerm},
		{"limit of pid 1, low half zero", unix.SYS_PRLIMIT64, []uint64{1, 1, high}, retPerm, retPerm},
		{"reading pid 1's limit", unix.SYS_PRLIMIT64, []uint64{1, 1, 0, pointer}, retAllow, retAllow},
		{"limit of the last kept", unix.SYS_PRLIMIT64, []uint64{9, 1, pointer}, retPerm, retPerm},
		{"limit of another", unix.SYS_PRLIMIT64, []uint64{10, 1, pointer}, retPerm, retAllow},
		{"upper half is ignored", unix.SYS_PRLIMIT64, []uint64{high | 1, 1, pointer}, retPerm, retPerm},
		{"own processors", unix.SYS_SCHED_SETAFFINITY, []uint64{0, 8, pointer}, retAllow, retAllow},
		{"pid 1's processors", unix.SYS_SCHED_SETAFFINITY, []uint64{1, 8, pointer}, retPerm, retPerm},
		{"a thread's processors", unix.SYS_SCHED_SETAFFINITY, []uint64{77, 8, pointer}, retPerm, retAllow},
		{"pid 1's scheduler", unix.SYS_SCHED_SETSCHEDULER, []uint64{1, 3, pointer}, retPerm, retPerm},
		{"pid 1's parameters", unix.SYS_SCHED_SETPARAM, []uint64{1, pointer}, retPerm, retPerm},
		{"pid 1's attributes", unix.SYS_SCHED_SETATTR, []uint64{1, pointer, 0}, retPerm, retPerm},
		{"own nice value", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0, 5}, retAllow, retAllow},
		{"own group's", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PGRP, 0, 5}, retAllow, retAllow},
		{"own user's", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0, 5}, retPerm, retPerm},
		{"user by number", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 1000, 5}, retPerm, retPerm},
		{"pid 1's nice value", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 1, 5}, retPerm, retPerm},
		{"pid 1's group", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PGRP, 1, 5}, retPerm, retPerm},
		{"another's nice value", unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 77, 5}, retPerm, retAllow},
		{"own I/O priority", unix.SYS_IOPRIO_SET, []uint64{1, 0, 0}, retAllow, retAllow},
		{"pid 1's I/O priority", unix.SYS_IOPRIO_SET, []uint64{1, 1, 0}, retPerm, retPerm},
		{"user's I/O priority", unix.SYS_IOPRIO_SET, []uint64{3, 1000, 0}, retPerm, retPerm},
		{"no such kind", unix.SYS_IOPRIO_SET, []uint64{0, 0, 0}, retPerm, retPerm},
	} {
		if got := answer(t, Policy{}, auditArch, tt.nr, tt.args...); got != tt.alone {
			t.Errorf("%s, alone: want %s, got %s", tt.name, names[tt.alone], names[got])
		}
		if got := answer(t, Policy{Above: 9}, auditArch, tt.nr, tt.args...); got != tt.tree {
			t.Errorf("%s, tree: want %s, got %s", tt.name, names[tt.tree], names[got])
		}
	}
}

// The search agrees with the table for every number.
func TestFilterAgreesWithTheTable(t *testing.T) {
	table := verdicts(Policy{})
	for nr := range uint32(600) {
		want, checked := retMissing, false
		v := missing
		if nr < numbers {
			v = table[nr]
		}
		switch v {
		case allow:
			want = retAllow
		case deny:
			want = retPerm
		case missing:
		default:
			checked = true
		}
		if got := answer(t, Policy{}, auditArch, nr); got != want && !checked {
			t.Errorf("number %d: want %s, got %s", nr, names[want], names[got])
		}
	}
}

// No number is in two lists: the later would silently win.
func TestListsAreDisjoint(t *testing.T) {
	seen := map[uint32]string{}
	for name, list := range map[string][]uint32{
		"ordinary": ordinaryCalls, "ordinary of the architecture": archOrdinaryCalls, "refused": refusedCalls,
		"refused of the architecture": archRefusedCalls, "absent": absentCalls, "tracing": tracingCalls,
		"checked": {unix.SYS_CLONE, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_IOCTL, unix.SYS_PERSONALITY,
			unix.SYS_PRLIMIT64, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET},
		"target": targetCalls,
	} {
		for _, nr := range list {
			if other, twice := seen[nr]; twice {
				t.Errorf("number %d is both %s and %s", nr, other, name)
			}
			seen[nr] = name
		}
	}
}

// TestInstall lets a child of the test install the filter for real.
func TestInstall(t *testing.T) {
	const env = "SANDBOXFS_SECCOMP_TEST"
	if how := os.Getenv(env); how != "" {
		runtime.LockOSThread()
		filter, err := Assemble(Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		install := InstallThread
		if how == "process" {
			install = InstallProcess
		}
		if err := install(filter); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); err != unix.EPERM {
			t.Errorf("vsock: %v", err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.ENOSYS {
			t.Errorf("clone3: %v", errno)
		}
		other := make(chan error)
		go func() {
			runtime.LockOSThread() // a thread that is not the one above
			_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			other <- err
		}()
		if err := <-other; how == "process" && err != unix.EPERM {
			t.Errorf("vsock on another thread: %v", err)
		}
		return
	}
	for _, how := range []string{"thread", "process"} {
		c := osexec.Command("/proc/self/exe", "-test.run", "^TestInstall$", "-test.v")
		c.Env = append(os.Environ(), env+"="+how)
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
	}
	if err := InstallThread(nil); err == nil {
		t.Error("an empty filter was installed")
	}
}

func BenchmarkAssemble(b *testing.B) {
	for b.Loop() {
		if _, err := Assemble(Policy{Tracing: TracingAllowed}); err != nil {
			b.Fatal(err)
		}
	}
}
