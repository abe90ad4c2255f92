package cgroup

import (
	"fmt"
	"strconv"
)

// DefaultPids is the number of tasks a sandbox may have when nothing else is
// asked for: enough for a parallel build, and a fork bomb ends within
// milliseconds.
const DefaultPids = 512

// GuestRoom is how many tasks a sandbox may have besides those of its commands:
// each command that runs has a process of ours above it, of some nine threads,
// and the guest wants to work on whatever commands do.
const GuestRoom = 512

// Limits is what a group may use.
type Limits struct {
	// Pids is the highest number of tasks (processes and threads). 0 means
	// DefaultPids, a negative number no limit.
	Pids int64 `json:"pids,omitempty"`
	// Memory is the highest number of bytes of memory, tmpfs files and page
	// cache included. 0 or less means no limit.
	Memory int64 `json:"memory,omitempty"`
	// CPUWeight is the share of the processor relative to other groups, 1 to
	// 10000. 0 means 100, the kernel's default.
	CPUWeight int `json:"cpu_weight,omitempty"`
}

// Resolved returns the limits with defaults filled in, or an error that names
// the field out of range.
func (l Limits) Resolved() (Limits, error) {
	if l.Pids == 0 {
		l.Pids = DefaultPids
	}
	if l.CPUWeight == 0 {
		l.CPUWeight = 100
	}
	if l.CPUWeight < 1 || l.CPUWeight > 10000 {
		return l, fmt.Errorf("limits: CPU weight %d is not between 1 and 10000", l.CPUWeight)
	}
	if l.Pids > 0 && l.Pids < 16 {
		return l, fmt.Errorf("limits: %d tasks are too few for a sandbox to start; allow 16 or more", l.Pids)
	}
	if l.Memory > 0 && l.Memory < 32<<20 {
		return l, fmt.Errorf("limits: %d bytes of memory are too few for a sandbox to start; allow 32 MiB or more", l.Memory)
	}
	return l, nil
}

// setting is one value written to one file of a group.
type setting struct {
	file, value string
	// optional settings may be refused: the kernel lacks the file.
	optional bool
}

// v1Settings returns what one version 1 controller is told.
func v1Settings(controller string, l Limits) []setting {
	switch controller {
	case "pids":
		if l.Pids > 0 {
			return []setting{{file: "pids.max", value: strconv.FormatInt(l.Pids, 10)}}
		}
	case "memory":
		if l.Memory > 0 {
			v := strconv.FormatInt(l.Memory, 10)
			return []setting{
				{file: "memory.limit_in_bytes", value: v},
				// Present only where swap is accounted.
				{file: "memory.memsw.limit_in_bytes", value: v, optional: true},
			}
		}
	case "cpu":
		// Shares are 1024 where the weight is 100.
		return []setting{{file: "cpu.shares", value: strconv.Itoa(max(2, l.CPUWeight*1024/100))}}
	}
	return nil
}

// v2Settings returns what one version 2 controller is told.
func v2Settings(controller string, l Limits) []setting {
	switch controller {
	case "pids":
		if l.Pids > 0 {
			return []setting{{file: "pids.max", value: strconv.FormatInt(l.Pids, 10)}}
		}
	case "memory":
		if l.Memory > 0 {
			return []setting{
				{file: "memory.max", value: strconv.FormatInt(l.Memory, 10)},
				{file: "memory.swap.max", value: "0", optional: true},
				// Out of memory ends the sandbox's biggest task, not all of it.
				{file: "memory.oom.group", value: "0", optional: true},
			}
		}
	case "cpu":
		return []setting{{file: "cpu.weight", value: strconv.Itoa(l.CPUWeight)}}
	}
	return nil
}
