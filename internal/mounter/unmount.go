package mounter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// How long a server may take to end, after what.
const (
	endTimeout  = 2 * time.Second  // after the mount is gone
	stopTimeout = 12 * time.Second // after SIGTERM, with requests at work
	killTimeout = 10 * time.Second // after SIGKILL
)

// Unmount ends the mount at a path and returns when its server has ended, so
// that everything written through it is in the thread's directories. With
// provider.UnmountLazy it returns when the mount is out of sight. A dead one is
// detached in any case. Kinds: as provider.HostUnmounter.
func Unmount(ctx context.Context, run *rundir.Root, given string, how provider.UnmountMode) error {
	point, err := realPoint(ctx, given)
	if err != nil {
		return err
	}
	f, err := mountAt(run, point)
	if err != nil {
		return err
	}
	if f == nil {
		return notOurs(given, point)
	}
	lock, err := f.dir.Lock(ctx)
	if err != nil {
		return err
	}
	// Somebody may have ended it while we waited, and mounted anew.
	if f.dir.ReadRecord(&f.record) != nil {
		lock.Remove()
		return notOurs(given, point)
	}
	if err := unmountLocked(ctx, f, how); err != nil {
		lock.Unlock()
		return err
	}
	return lock.Remove()
}

// mountAt finds the mount at a real path: the one that the kernel has there,
// else one that was made there and is dead or out of sight.
func mountAt(run *rundir.Root, point string) (*found, error) {
	table, err := readTable()
	if err != nil {
		return nil, err
	}
	if m, ok := table.at(point); ok {
		f, err := search(run, func(r Record) bool { return r.Device == m.device })
		if f != nil || err != nil {
			return f, err
		}
	}
	here, err := namespace()
	if err != nil {
		return nil, err
	}
	return search(run, func(r Record) bool { return r.Point == point && r.Namespace == here })
}

func notOurs(given, point string) error {
	e := &provider.Error{Kind: provider.NotFound, Reason: "nothing is mounted at " + given, Next: "list the mounts: sandboxfs mount"}
	if table, err := readTable(); err == nil {
		if _, ok := table.at(point); ok {
			e.Reason = "what is mounted at " + given + " is not a mount of this runtime directory"
			e.Next = "unmount it with umount, or set SANDBOXFS_RUNTIME_DIR to the directory that it was made with"
		}
	}
	return e
}

func unmountLocked(ctx context.Context, f *found, how provider.UnmountMode) error {
	pid := f.dir.Keeper()
	if pid == 0 {
		how = provider.UnmountLazy // nobody can get anything of it any more
	}
	if err := unmountEntry(f, pid, how); err != nil {
		return err
	}
	if pid == 0 {
		return nil
	}
	if how == provider.UnmountLazy {
		return letGo(ctx, f.dir)
	}
	return endServer(ctx, f.dir)
}

// unmountEntry takes the mount out of this namespace.
func unmountEntry(f *found, pid int, how provider.UnmountMode) error {
	table, err := readTable()
	if err != nil {
		return err
	}
	m, ok := f.record.find(table)
	if !ok {
		return f.missing(table, pid)
	}
	err = detach(m.point, how)
	if !errors.Is(err, provider.Conflict) {
		return err
	}
	busy := &provider.Error{Kind: provider.Conflict, Reason: m.point + " is in use", Err: err,
		Next: "end what uses it (fuser -vm lists it), or unmount it lazily: sandboxfs umount --lazy " + m.point}
	var inside []string
	for _, b := range table.below(m.point) {
		inside = append(inside, b.point)
	}
	if len(inside) > 0 {
		busy.Reason = fmt.Sprintf("something is mounted below %s: %s", m.point, strings.Join(inside, ", "))
		busy.Next = "unmount that first"
	} else if who := holders(m.point); len(who) > 0 {
		busy.Reason += " by " + strings.Join(who, ", ")
	}
	return busy
}

// missing is the answer where the mount is not to be seen, or not alone.
func (f *found) missing(table mountTable, pid int) error {
	if m, ok := table.device(f.record.Device); ok {
		return &provider.Error{Kind: provider.Conflict, Reason: "another mount lies over the one at " + m.point, Next: "unmount that first"}
	}
	here, err := namespace()
	if err == nil && pid != 0 && f.record.Namespace != here {
		return &provider.Error{Kind: provider.Conflict, Reason: f.record.Point + " is mounted in another mount namespace",
			Next: fmt.Sprintf("unmount it there: nsenter -t %d -m", pid)}
	}
	return nil
}

// endServer returns when the server of a mount that is gone has ended. It may
// not end by itself: another mount namespace can have a copy of the mount.
func endServer(ctx context.Context, dir *rundir.Dir) error {
	for _, step := range []struct {
		signal unix.Signal
		wait   time.Duration
	}{{0, endTimeout}, {unix.SIGTERM, stopTimeout}, {unix.SIGKILL, killTimeout}} {
		pid := dir.Keeper()
		if pid == 0 {
			return nil
		}
		// The kernel names the pid as the holder of the record lock.
		if err := unix.Kill(pid, step.signal); err != nil && err != unix.ESRCH {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, step.wait)
		err := dir.WaitDead(wait)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return &provider.Error{Kind: provider.Unavailable, Reason: "the mount is gone, but its server did not end",
		Next: "look for sandboxfsd mount in the process list"}
}
