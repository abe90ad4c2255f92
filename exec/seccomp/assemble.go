package seccomp

import (
	"fmt"
	"math"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, for little-endian machines (both that are
// supported). Only the low halves of arguments are read, but for a pointer: the
// calls that are checked take 32-bit values and the kernel ignores the upper
// half.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
	offArg2   = 32
	offArg2Hi = 36
)

// Answers of the filter.
const (
	retAllow   = unix.SECCOMP_RET_ALLOW
	retPerm    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retMissing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	retKill    = unix.SECCOMP_RET_KILL_PROCESS
)

// segment is a run of numbers with one verdict, from its start to the start of
// the next.
type segment struct {
	start   uint32
	verdict verdict
}

// Assemble builds the filter for the running architecture. It costs some ten
// microseconds; a process that installs it more than once keeps the result.
//
// A call of another architecture's interface (32-bit programs) kills the
// process: answering an error would let it run on in a world where even exit
// fails.
func Assemble(p Policy) ([]bpf.RawInstruction, error) {
	prog := append(make([]bpf.Instruction, 0, numbers),
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: retKill},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	)
	prog = append(prog, p.search(segments(verdicts(p)))...)
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return nil, fmt.Errorf("assemble the system-call filter: %w", err)
	}
	return raw, nil
}

// segments turns single numbers into sorted runs that cover all numbers.
func segments(table *[numbers]verdict) []segment {
	out := make([]segment, 1, numbers/4)
	out[0] = segment{0, table[0]}
	add := func(start uint32, v verdict) {
		if out[len(out)-1].verdict != v {
			out = append(out, segment{start, v})
		}
	}
	for nr, v := range table {
		add(uint32(nr), v)
	}
	add(numbers, missing)
	return out
}

// search emits a binary search over the segments: about seven comparisons for
// any number. (For calls that are always allowed recent kernels skip the
// filter altogether.)
func (p Policy) search(s []segment) []bpf.Instruction {
	if len(s) == 1 {
		return p.leaf(s[0].verdict)
	}
	mid := len(s) / 2
	low, high := p.search(s[:mid]), p.search(s[mid:])
	var out []bpf.Instruction
	if len(low) <= 255 {
		out = []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: s[mid].start, SkipTrue: uint8(len(low))},
		}
	} else {
		out = []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: s[mid].start, SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(low))},
		}
	}
	return append(append(out, low...), high...)
}

// leaf emits the answer for one verdict.
func (p Policy) leaf(v verdict) []bpf.Instruction {
	switch v {
	case allow:
		return []bpf.Instruction{bpf.RetConstant{Val: retAllow}}
	case deny:
		return []bpf.Instruction{bpf.RetConstant{Val: retPerm}}
	case checkClone:
		return []bpf.Instruction{
			bpf.LoadAbsolute{Off: offArg0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: cloneNamespaces, SkipTrue: 1},
			bpf.RetConstant{Val: retAllow},
			bpf.RetConstant{Val: retPerm},
		}
	case checkSocket:
		head := []bpf.Instruction{
			bpf.LoadAbsolute{Off: offArg0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipFalse: 4},
			bpf.LoadAbsolute{Off: offArg2, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipFalse: 1},
			bpf.RetConstant{Val: retAllow},
			bpf.RetConstant{Val: retPerm},
		}
		return append(head, oneOf(socketFamilies, retAllow, retPerm)...)
	case checkSocketpair:
		return append([]bpf.Instruction{bpf.LoadAbsolute{Off: offArg0, Size: 4}},
			oneOf([]uint32{unix.AF_UNIX}, retAllow, retPerm)...)
	case checkIoctl:
		return append([]bpf.Instruction{bpf.LoadAbsolute{Off: offArg1, Size: 4}},
			oneOf(refusedIoctls, retPerm, retAllow)...)
	case checkPersonality:
		return append([]bpf.Instruction{bpf.LoadAbsolute{Off: offArg0, Size: 4}},
			oneOf(personalities, retAllow, retPerm)...)
	case checkTarget:
		return p.target(offArg0)
	case checkLimit:
		// Reading another's limits (the new ones are NULL) changes nothing.
		return append([]bpf.Instruction{
			bpf.LoadAbsolute{Off: offArg2, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: 3},
			bpf.LoadAbsolute{Off: offArg2Hi, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: 1},
			bpf.RetConstant{Val: retAllow},
		}, p.target(offArg0)...)
	case checkPriority:
		return p.process(unix.PRIO_PROCESS)
	case checkIOPriority:
		return p.process(ioprioProcess)
	default:
		return []bpf.Instruction{bpf.RetConstant{Val: retMissing}}
	}
}

// target lets an argument be the caller itself or a number that is free.
func (p Policy) target(offset uint32) []bpf.Instruction {
	above := p.Above
	if above == 0 {
		above = math.MaxUint32
	}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: offset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: above, SkipTrue: 1},
		bpf.RetConstant{Val: retPerm},
		bpf.RetConstant{Val: retAllow},
	}
}

// process lets the first argument say that the second is a process or, the next
// value, a group: a group has the number of its first process.
func (p Policy) process(first uint32) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: first, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: first + 1, SkipTrue: 1},
		bpf.RetConstant{Val: retPerm},
	}, p.target(offArg1)...)
}

// oneOf compares the loaded word with each value.
func oneOf(values []uint32, found, other uint32) []bpf.Instruction {
	var out []bpf.Instruction
	for i, v := range values {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)})
	}
	return append(out, bpf.RetConstant{Val: other}, bpf.RetConstant{Val: found})
}
