package mounter

import (
	"sort"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// The states of a mount, as provider.HostMount has them.
const (
	stateMounted  = "mounted"
	stateStarting = "starting"
	stateDetached = "detached"
	stateDead     = "dead"
)

// found is a mount in the runtime directory.
type found struct {
	dir    *rundir.Dir
	record Record
	pid    int // of the server; 0 where it is dead
}

// each calls do for every recorded mount until it returns false. One without a
// record is passed over: it is being made, or was never begun.
func each(run *rundir.Root, do func(found) bool) error {
	dirs, err := run.Mounts()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		f := found{dir: dir, pid: dir.Keeper()}
		if dir.ReadRecord(&f.record) != nil {
			continue
		}
		if !do(f) {
			return nil
		}
	}
	return nil
}

// holder returns the record of a mount in the table, or nil. Of several that
// have its numbers it is the one with its path, else one whose server lives.
func holder(run *rundir.Root, m mountinfo.Mount) (*found, error) {
	var best *found
	err := each(run, func(f found) bool {
		if !f.record.is(m) {
			return true
		}
		if best == nil || best.pid == 0 {
			best = &f
		}
		if f.record.Point == m.Point && f.pid != 0 {
			best = &f
			return false
		}
		return true
	})
	return best, err
}

// List returns the mounts of a data directory, given by its real path, ordered
// by mount point; dead ones too.
func List(run *rundir.Root, home string) ([]provider.HostMount, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return nil, err
	}
	var all []provider.HostMount
	err = each(run, func(f found) bool {
		if f.record.Home == home {
			all = append(all, f.info(run, table))
		}
		return true
	})
	sort.SliceStable(all, func(i, j int) bool { return all[i].Point < all[j].Point })
	return all, err
}

func (f found) info(run *rundir.Root, table mountinfo.Table) provider.HostMount {
	state := stateMounted
	m, seen := f.locate(run, table)
	switch {
	case f.pid == 0:
		state = stateDead
	case f.record.Device == "":
		state = stateStarting
	case !seen:
		state = stateDetached
	}
	info := f.record.info(state)
	info.PID = f.pid
	if seen {
		info.Point = m.Point // a directory above it may have been renamed
	}
	return info
}

// locate finds the mount in the table. One that has been given its numbers is
// not taken for it: that is recorded too, or it is not dead while this is.
func (f found) locate(run *rundir.Root, table mountinfo.Table) (mountinfo.Mount, bool) {
	m, ok := f.record.find(table)
	switch {
	case !ok:
		return m, false
	case f.pid == 0:
		return m, isDead(m.Point)
	case m.Point == f.record.Point:
		return m, true
	}
	other, err := holder(run, m)
	return m, err == nil && other != nil && other.dir.Name() == f.dir.Name()
}

// isFresh reports whether a thread has no directories yet.
func isFresh(spec Spec) bool {
	parts := mapping.Layout{Home: spec.Home}.ThreadParts(spec.Key)
	if parts == nil {
		return false
	}
	home, err := hostpath.Open(spec.Home)
	if err != nil {
		return false
	}
	defer home.Close()
	dir, err := hostpath.Walk(home, parts...)
	if err != nil {
		return true
	}
	dir.Close()
	return false
}
