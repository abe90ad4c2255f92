package mounter

import (
	"sort"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
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

// search returns the first mount that is wanted, or nil.
func search(run *rundir.Root, wanted func(Record) bool) (*found, error) {
	var hit *found
	err := each(run, func(f found) bool {
		if wanted(f.record) {
			hit = &f
		}
		return hit == nil
	})
	return hit, err
}

// List returns the mounts of a data directory, given by its real path, ordered
// by mount point; dead ones too.
func List(run *rundir.Root, home string) ([]provider.HostMount, error) {
	table, err := readTable()
	if err != nil {
		return nil, err
	}
	var all []provider.HostMount
	err = each(run, func(f found) bool {
		if f.record.Home == home {
			all = append(all, f.info(table))
		}
		return true
	})
	sort.SliceStable(all, func(i, j int) bool { return all[i].Point < all[j].Point })
	return all, err
}

func (f found) info(table mountTable) provider.HostMount {
	state := stateMounted
	m, seen := table.device(f.record.Device)
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
		info.Point = m.point // a directory above it may have been renamed
	}
	return info
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
