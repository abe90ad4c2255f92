package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

var _ provider.Remover = (*Provider)(nil)

// opRemove is the operation that errors of a removal name.
const opRemove = "remove thread"

// removedPrefix begins the name that a thread's directory has while it is
// deleted. No thread can be called so.
const removedPrefix = ".removed-"

// Remove implements [provider.Remover]. The thread's directory is renamed while
// nobody can make its sandbox, and deleted then: a removal that is killed
// leaves no half thread, and gc deletes the rest.
func (p *Provider) Remove(ctx context.Context, key mapping.Key, how provider.RemoveMode) error {
	if err := validThread(key); err != nil {
		return err
	}
	key = key.Normalize()
	threads, err := p.threadsDir(key.User)
	if err != nil {
		return p.failRemove(key, err)
	}
	defer threads.Close()
	var st unix.Stat_t
	if err := unix.Fstatat(int(threads.Fd()), key.Thread, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil && p.dir(key).Keeper() == 0 {
		return p.failRemove(key, err)
	}
	if err := p.unmounted(ctx, key); err != nil {
		return p.failRemove(key, err) // before anything is ended
	}
	lock, err := p.lockDead(ctx, key, how)
	if err != nil {
		return p.failRemove(key, err)
	}
	trash, err := "", p.unused(key)
	if err == nil {
		err = p.unmounted(ctx, key)
	}
	if err == nil {
		trash, err = discard(threads, key.Thread)
	}
	if buried := lock.Remove(); err == nil {
		err = buried
	}
	if err == nil {
		err = hostpath.RemoveAll(threads, trash)
	}
	if err != nil {
		return p.failRemove(key, err)
	}
	return nil
}

// threadsDir opens the directory of a user's threads.
func (p *Provider) threadsDir(user string) (*os.File, error) {
	home, err := hostpath.Open(p.home)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	return hostpath.Walk(home, "users", user, "threads")
}

// lockDead ends a thread's sandbox and returns its lock: as long as it is held
// nobody makes it anew.
func (p *Provider) lockDead(ctx context.Context, key mapping.Key, how provider.RemoveMode) (*rundir.Lock, error) {
	s := anySandbox(p, IDOf(key), key)
	defer s.close()
	mode := guest.StopIfIdle
	if how == provider.RemoveNow {
		mode = guest.StopNow
	}
	dir := p.dir(key)
	for {
		if dir.Keeper() != 0 {
			if err := p.stop(ctx, s, mode); err != nil {
				return nil, err
			}
		}
		lock, err := dir.Lock(ctx)
		if err != nil {
			return nil, err
		}
		if dir.Keeper() == 0 {
			return lock, nil
		}
		lock.Unlock() // somebody made it just before
	}
}

// unused refuses a thread that another provider's sandbox shows.
func (p *Provider) unused(key mapping.Key) error {
	dirs, err := p.run.List()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		st, err := dir.ReadState()
		if err == nil && st.Home == p.home && st.User == key.User && st.Thread == key.Thread && dir.Keeper() != 0 {
			return &provider.Error{Kind: provider.Conflict, Reason: fmt.Sprintf("the provider %s has a live sandbox of it", st.Provider),
				Next: "stop that first"}
		}
	}
	return nil
}

// unmounted refuses a thread that is mounted on the host.
func (p *Provider) unmounted(ctx context.Context, key mapping.Key) error {
	mounts, err := p.HostMounts(ctx)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.User == key.User && m.Thread == key.Thread && m.PID != 0 {
			return &provider.Error{Kind: provider.Conflict, Reason: "it is mounted at " + m.Point, Next: "unmount it first: sandboxfs umount " + m.Point}
		}
	}
	return nil
}

// discard gives what is called name a name that nobody looks for, and returns
// it.
func discard(dir *os.File, name string) (string, error) {
	var b [8]byte
	rand.Read(b[:])
	trash := removedPrefix + hex.EncodeToString(b[:])
	err := unix.Renameat(int(dir.Fd()), name, int(dir.Fd()), trash)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return "", os.NewSyscallError("rename", err)
	}
	return trash, nil
}

func (p *Provider) failRemove(key mapping.Key, err error) error {
	var e *provider.Error
	switch {
	case errors.As(err, &e) && e.Kind == provider.Conflict && e.Op == "stop sandbox":
		return &provider.Error{Kind: provider.Conflict, Op: opRemove, Thread: key.String(), Reason: "something runs in its sandbox",
			Next: "wait until it ends, or end it: sandboxfs rm --force " + key.String(), Err: err}
	case errors.As(err, &e):
		c := *e
		c.Op, c.Thread = opRemove, key.String()
		return &c
	case errors.Is(err, unix.ENOENT):
		return noThread(key, err)
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EBUSY):
		return &provider.Error{Kind: provider.Conflict, Op: opRemove, Thread: key.String(),
			Reason: "something is mounted in the thread's directory", Next: "unmount it, then run: sandboxfs gc", Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &provider.Error{Kind: provider.Timeout, Op: opRemove, Thread: key.String(), Reason: "its sandbox did not end in time", Err: err}
	}
	return hostError(opRemove, key.String(), "", err)
}

func noThread(key mapping.Key, err error) error {
	return &provider.Error{Kind: provider.NotFound, Op: "find thread", Thread: key.String(), Reason: "there is no such thread",
		Next: "sandboxfs threads lists those there are", Err: err}
}

// collectThreads deletes what is left of removals that were killed, and the
// temporary threads whose maker is gone.
func (p *Provider) collectThreads(ctx context.Context) (removed []provider.Removed, err error) {
	var errs []error
	err = p.eachUser(func(user string, threads *os.File) error {
		return eachName(threads, func(name string) error {
			switch {
			case strings.HasPrefix(name, removedPrefix):
				if err := hostpath.RemoveAll(threads, name); err != nil {
					errs = append(errs, p.failRemove(mapping.Key{User: user}, err))
					return nil
				}
				removed = append(removed, provider.Removed{What: "rest of a removed thread", User: user})
			case strings.HasPrefix(name, temporaryPrefix):
				key := mapping.Key{User: user, Thread: name}
				done, err := p.collectTemporary(ctx, threads, key)
				if err != nil {
					errs = append(errs, err)
				}
				if done {
					removed = append(removed, provider.RemovedOf(key, "temporary thread", key.String()))
				}
			}
			return ctx.Err()
		})
	})
	return removed, errors.Join(append(errs, err)...)
}
