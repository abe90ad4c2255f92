package mounter

import (
	"context"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/internal/detached"
	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// maxStacked bounds how many dead mounts at one place are detached.
const maxStacked = 100

// Mount mounts a tree and returns when it answers. daemon is the path of
// sandboxfsd. A dead mount of ours at the place is detached first. Where the
// same tree is mounted there in the same way nothing is done and
// HostMount.Already is set. On an error nothing is left. Kinds: as
// provider.HostMounter.
func Mount(ctx context.Context, daemon string, run *rundir.Root, spec Spec) (provider.HostMount, error) {
	var none provider.HostMount
	given := spec.Point
	point, err := realPoint(ctx, given)
	if err != nil {
		return none, err
	}
	if !utf8.ValidString(point) {
		return none, &provider.Error{Kind: provider.Invalid, Reason: fmt.Sprintf("the path %q is not UTF-8, so neither a list nor JSON could name the mount", point),
			Next: "mount at a directory with another name"}
	}
	namespace, err := namespace()
	if err != nil {
		return none, err
	}
	dir := run.Mount(namespace, point)
	lock, err := dir.Lock(ctx)
	if err != nil {
		return none, err
	}
	spec.Point, spec.Name, spec.RuntimeDir = point, dir.Name(), run.Path()
	if spec.Audience == "" {
		spec.Audience = MounterOnly
	}
	info, err := mountLocked(ctx, daemon, run, dir, lock, spec)
	switch {
	case err == nil:
		lock.Unlock()
	case dir.Keeper() != 0:
		lock.Unlock() // of a mount that was there before
	default:
		lock.Remove()
	}
	return info, err
}

func mountLocked(ctx context.Context, daemon string, run *rundir.Root, dir *rundir.Dir, lock *rundir.Lock, spec Spec) (provider.HostMount, error) {
	var none provider.HostMount
	if err := heal(spec.Point); err != nil {
		return none, err
	}
	table, err := mountinfo.Read()
	if err != nil {
		return none, err
	}
	if m, ok := table.At(spec.Point); ok && isTree(m) {
		return already(run, spec, m)
	}
	if err := checkUncovered(run, dir, spec.Point, table); err != nil {
		return none, err
	}
	// A server of a mount that was here and is out of sight may not have
	// noticed yet.
	if err := letGo(ctx, dir, askAgain); err != nil {
		return none, err
	}
	if err := checkPoint(spec, table); err != nil {
		return none, err
	}
	if err := checkLive(run, spec.Point, table); err != nil {
		return none, err
	}
	fresh := isFresh(spec)
	log, err := dir.Log()
	if err != nil {
		return none, err
	}
	defer log.Close()
	pid, err := detached.Start(ctx, detached.Process{
		Program: daemon, Verb: "mount", Spec: spec, Log: log, Lock: lock.File(), What: "the mount's server",
	})
	if err != nil {
		waitDead(dir)
		heal(spec.Point) // it may have been killed between mounting and its word
		return none, err
	}
	if err := answers(ctx, spec.Point); err != nil {
		unix.Kill(pid, unix.SIGTERM)
		waitDead(dir)
		return none, &provider.Error{Kind: provider.Unavailable, Reason: "the mount does not answer: " + cause(err), Err: err}
	}
	var record Record
	if err := dir.ReadRecord(&record); err != nil {
		return none, err
	}
	info := record.info(stateMounted)
	info.PID, info.NewThread = pid, fresh
	return info, nil
}

// waitDead gives a server that failed or was told to end the time to do so.
func waitDead(dir *rundir.Dir) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	dir.WaitDead(ctx)
}

// heal detaches dead mounts of ours at a place.
func heal(point string) error {
	for range maxStacked {
		table, err := mountinfo.Read()
		if err != nil {
			return err
		}
		m, ok := table.At(point)
		if !ok || !isOurs(m, os.Geteuid()) || !isDead(point) {
			return nil
		}
		if err := detachDead(point); err != nil {
			return err
		}
	}
	return nil
}

// already answers where a tree is mounted at the place.
func already(run *rundir.Root, spec Spec, m mountinfo.Mount) (provider.HostMount, error) {
	conflict := &provider.Error{Kind: provider.Conflict, Next: "unmount it first: sandboxfs umount " + spec.Point}
	found, err := holder(run, m)
	if err != nil || found == nil || found.pid == 0 {
		conflict.Reason = "a mount of sandboxfs that is not in this runtime directory is at " + spec.Point
		conflict.Next = "choose another directory, or look for its owner in the mount table"
		return provider.HostMount{}, conflict
	}
	r := found.record
	key := spec.Key.Normalize()
	switch {
	case r.Home != spec.Home || r.User != key.User || r.Thread != key.Thread:
		conflict.Reason = fmt.Sprintf("another thread (%s) is mounted at %s", r.info("").ThreadKey(), spec.Point)
	case r.View != spec.View || r.Ownership != spec.Ownership || r.Audience != spec.Audience:
		conflict.Reason = fmt.Sprintf("the thread is mounted at %s already, in another way: view %s, ownership %s, for %s",
			spec.Point, r.View, r.Ownership, r.Audience)
	default:
		info := r.info(stateMounted)
		info.PID, info.Already = found.pid, true
		return info, nil
	}
	return provider.HostMount{}, conflict
}

// checkUncovered refuses a place whose mount is in sight but not to be seen
// there: something else lies over it, or it is at another path by now.
func checkUncovered(run *rundir.Root, dir *rundir.Dir, point string, table mountinfo.Table) error {
	f := found{dir: dir, pid: dir.Keeper()}
	if f.pid == 0 || dir.ReadRecord(&f.record) != nil {
		return nil
	}
	m, ok := f.locate(run, table)
	if !ok {
		return nil
	}
	if m.Point != point {
		return &provider.Error{Kind: provider.Conflict,
			Reason: fmt.Sprintf("the mount that was made at %s is still in use, at %s: a directory above it was renamed", point, m.Point),
			Next:   "unmount it first: sandboxfs umount " + m.Point}
	}
	top, _ := table.At(point)
	return &provider.Error{Kind: provider.Conflict,
		Reason: fmt.Sprintf("%s is a mount of the thread %s already, and another mount (%s) lies over it", point, f.record.info("").ThreadKey(), top.Type),
		Next:   "unmount the upper one first: umount " + point}
}

// letGoTimeout is how long a server may take to notice that its mount is out
// of sight.
const letGoTimeout = 10 * time.Second

// askAgain is how long a server is waited for before it is asked once more.
const askAgain = 500 * time.Millisecond

// letGo has a server whose mount is out of sight give its directory back, and
// asks it once in an interval. The caller holds the directory's lock.
func letGo(ctx context.Context, dir *rundir.Dir, interval time.Duration) error {
	pid := dir.Keeper()
	if pid == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, letGoTimeout)
	defer cancel()
	for {
		// The kernel names the pid as the holder of the record lock. A server may
		// look a moment too early, so it is asked again.
		if err := unix.Kill(pid, lookSignal); err != nil && err != unix.ESRCH {
			return err
		}
		short, stop := context.WithTimeout(ctx, interval)
		err := dir.WaitDead(short)
		stop()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			continue
		}
		return &provider.Error{Kind: provider.Unavailable, Reason: "the server of a mount that was here does not answer",
			Next: fmt.Sprintf("end the process %d, then try again", pid), Err: err}
	}
}
