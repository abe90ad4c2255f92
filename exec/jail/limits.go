package jail

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

// minDataBytes is the least that RLIMIT_DATA is set to: it holds for our own
// pid 1 as well, and a Go program wants more address space than it uses.
const minDataBytes = 256 << 20

// limit makes the cgroup, or falls back to resource limits and says so.
func (j *Jail) limit(s Spec, w *world) error {
	if s.Name == "" {
		w.noGroup(s, "no name was given for one")
		return nil
	}
	limits := s.Limits
	if w.OwnUserNS && limits.Pids > 0 {
		limits.Pids += cgroup.GuestRoom // commands have a limit of their own
	}
	g, err := cgroup.Create(s.Name, limits)
	switch {
	case errors.Is(err, cgroup.ErrUnavailable):
		w.noGroup(s, err.Error())
		return nil
	case err != nil:
		return failed("create cgroup", err)
	}
	j.group = g
	w.bound(s, g)
	w.Isolation["cgroup"] = g.String()
	return nil
}

// dropGroup removes a cgroup that cannot be used after all.
func (j *Jail) dropGroup() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = j.group.Remove(ctx) // empty; what is left is found by name later
	j.group = nil
}

// noGroup has resource limits do what they can without a cgroup.
func (w *world) noGroup(s Spec, why string) {
	w.bound(s, nil)
	w.Isolation["cgroup"] = "none: " + why
}

// bound says which limits the guest sets itself and by what each holds.
func (w *world) bound(s Spec, g *cgroup.Group) {
	rlimit := "rlimit"
	if !w.OwnUserNS {
		rlimit = "nothing" // root's rights are left alone
	}
	by := func(controller string) string {
		if g != nil && g.Has(controller) {
			return "cgroup"
		}
		return rlimit
	}
	tasks, memory := "tasks unlimited", "memory unlimited"
	// The number of commands' tasks is bounded by a resource limit in any case.
	switch w.Pids = s.Limits.Pids; {
	case w.Pids <= 0:
	case w.OwnUserNS:
		tasks = fmt.Sprintf("%d tasks by rlimit, %d with the guest's by %s", w.Pids, w.Pids+cgroup.GuestRoom, by("pids"))
	default:
		tasks = fmt.Sprintf("%d tasks by %s", w.Pids, by("pids"))
	}
	if s.Limits.Memory > 0 {
		bytes, how := s.Limits.Memory, by("memory")
		w.DataBytes = 0
		if how == "rlimit" {
			bytes = max(bytes, minDataBytes)
			how = "rlimit for each process"
			w.DataBytes = bytes
		}
		memory = fmt.Sprintf("%d bytes of memory by %s", bytes, how)
	}
	w.Isolation["limits"] = tasks + ", " + memory
}
