package mounter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
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
		return whereNothingIs(given, err)
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
	if err := unmountLocked(ctx, run, f, how); err != nil {
		lock.Unlock()
		return err
	}
	return lock.Remove()
}

// mountAt finds the mount at a real path: the one that the kernel has there,
// else one that was made there and is dead or out of sight.
func mountAt(run *rundir.Root, point string) (*found, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return nil, err
	}
	if m, ok := table.At(point); ok {
		f, err := holder(run, m)
		if f != nil || err != nil {
			return f, err
		}
	}
	here, err := namespace()
	if err != nil {
		return nil, err
	}
	var hit *found
	err = each(run, func(f found) bool {
		if f.record.Point == point && f.record.Namespace == here {
			hit = &f
		}
		return hit == nil
	})
	return hit, err
}

// whereNothingIs puts what is wrong with the path of a mount point into words
// for whoever wants it unmounted: nothing is there to be made or chosen.
func whereNothingIs(given string, err error) error {
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind == provider.Timeout {
		return err
	}
	e.Next = "list the mounts: sandboxfs mount"
	if e.Kind == provider.NotFound {
		e.Reason = fmt.Sprintf("there is no directory %s, so nothing is mounted there", given)
	}
	return e
}

func notOurs(given, point string) error {
	e := &provider.Error{Kind: provider.NotFound, Reason: "nothing is mounted at " + given, Next: "list the mounts: sandboxfs mount"}
	if table, err := mountinfo.Read(); err == nil {
		if _, ok := table.At(point); ok {
			e.Reason = "what is mounted at " + given + " is not a mount of this runtime directory"
			e.Next = "unmount it with umount, or set SANDBOXFS_RUNTIME_DIR to the directory that it was made with"
		}
	}
	return e
}

func unmountLocked(ctx context.Context, run *rundir.Root, f *found, how provider.UnmountMode) error {
	f.pid = f.dir.Keeper()
	if f.pid == 0 {
		// Nobody can get anything of it any more.
		return unmountEntry(run, f, provider.UnmountLazy)
	}
	// The kernel names the pid as the holder of the record lock, and a pidfd
	// is of one process for good.
	server, err := unix.PidfdOpen(f.pid, 0)
	if err == nil {
		defer unix.Close(server)
	} else if err != unix.ESRCH {
		return os.NewSyscallError("pidfd_open", err)
	}
	if err := unmountEntry(run, f, how); err != nil {
		return err
	}
	switch {
	case how == provider.UnmountLazy:
		return letGo(ctx, f.dir, askAgain)
	case err != nil:
		return nil // it ended meanwhile
	}
	return endServer(ctx, server)
}

// unmountEntry takes the mount out of this namespace.
func unmountEntry(run *rundir.Root, f *found, how provider.UnmountMode) error {
	table, err := mountinfo.Read()
	if err != nil {
		return err
	}
	m, ok := f.locate(run, table)
	if !ok {
		return f.elsewhere()
	}
	if top, _ := table.At(m.Point); top != m {
		return &provider.Error{Kind: provider.Conflict, Reason: fmt.Sprintf("another mount (%s) lies over the one at %s", top.Type, m.Point),
			Next: "unmount that first: umount " + m.Point}
	}
	if f.pid == 0 {
		return detachDead(m.Point)
	}
	err = detach(m.Point, how)
	if !errors.Is(err, provider.Conflict) {
		return err
	}
	busy := &provider.Error{Kind: provider.Conflict, Reason: m.Point + " is in use", Err: err,
		Next: "end what uses it (fuser -vm lists it), or unmount it lazily: sandboxfs umount --lazy " + m.Point}
	var inside []string
	for _, b := range table.Below(m.Point) {
		inside = append(inside, b.Point)
	}
	if len(inside) > 0 {
		busy.Reason = fmt.Sprintf("something is mounted below %s: %s", m.Point, strings.Join(inside, ", "))
		busy.Next = "unmount that first"
	} else if who := holders(m.Point); len(who) > 0 {
		busy.Reason += " by " + strings.Join(who, ", ")
	}
	return busy
}

// elsewhere refuses to end a server that has its mount where this process
// cannot see it. One that is gone needs nothing more.
func (f *found) elsewhere() error {
	here, err := namespace()
	if err == nil && f.pid != 0 && f.record.Namespace != here {
		return &provider.Error{Kind: provider.Conflict, Reason: f.record.Point + " is mounted in another mount namespace",
			Next: fmt.Sprintf("unmount it there: nsenter -t %d -m", f.pid)}
	}
	return nil
}

// endServer returns when the server of a mount that is gone has ended. It may
// not end by itself: another mount namespace can have a copy of the mount.
func endServer(ctx context.Context, server int) error {
	for _, step := range []struct {
		signal unix.Signal
		wait   time.Duration
	}{{0, endTimeout}, {unix.SIGTERM, stopTimeout}, {unix.SIGKILL, killTimeout}} {
		if err := unix.PidfdSendSignal(server, step.signal, nil, 0); err != nil && err != unix.ESRCH {
			return err
		}
		if ended(ctx, server, step.wait) {
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return &provider.Error{Kind: provider.Unavailable, Reason: "the mount is gone, but its server did not end",
		Next: "look for sandboxfsd mount in the process list"}
}

// ended waits for the process behind a pidfd.
func ended(ctx context.Context, pidfd int, atMost time.Duration) bool {
	end := time.Now().Add(atMost)
	for ctx.Err() == nil {
		left := time.Until(end).Milliseconds()
		if left <= 0 {
			break
		}
		// In steps, so that the end of ctx is noticed.
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(min(left, 100)))
		if n > 0 && err == nil {
			return true
		}
	}
	return false
}
