package mounter

import (
	"errors"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Collect removes what killed servers left: their mounts, detached lazily, and
// their records. What
// cannot be removed keeps nobody from removing the rest. Kinds: denied, unavailable.
func Collect(run *rundir.Root) ([]provider.Removed, error) {
	dirs, err := run.Mounts()
	if err != nil {
		return nil, err
	}
	var removed []provider.Removed
	var errs []error
	for _, dir := range dirs {
		if dir.Keeper() != 0 {
			continue
		}
		lock, err := dir.TryLock()
		if err != nil || lock == nil {
			continue // being made, or ended
		}
		what, err := bury(run, dir)
		if err != nil {
			lock.Unlock()
			errs = append(errs, err)
			continue
		}
		if what.What == "" {
			lock.Unlock()
			continue
		}
		if err := lock.Remove(); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, what)
	}
	return removed, errors.Join(errs...)
}

// bury detaches the mount of a dead server. It says nothing where one lives
// after all. The caller holds the lock.
func bury(run *rundir.Root, dir *rundir.Dir) (provider.Removed, error) {
	var nothing provider.Removed
	if dir.Keeper() != 0 {
		return nothing, nil
	}
	f := found{dir: dir}
	if dir.ReadRecord(&f.record) != nil { // its server never came to mount
		return provider.Removed{What: "runtime state"}, nil
	}
	r := f.record
	key := mapping.Key{User: r.User, Thread: r.Thread}
	here, err := namespace()
	if err != nil {
		return nothing, err
	}
	table, err := mountinfo.Read()
	if err != nil {
		return nothing, err
	}
	m, ok := f.locate(run, table)
	if !ok || r.Namespace != here {
		return provider.RemovedOf(key, "runtime state", r.Point), nil
	}
	return provider.RemovedOf(key, "mount", m.Point), detachDead(m.Point)
}
