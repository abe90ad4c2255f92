package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

var _ provider.TemporaryMaker = (*Provider)(nil)

const (
	// temporaryPrefix begins the name of every temporary thread.
	temporaryPrefix = "run-"
	// temporaryMark is the file in a temporary thread's directory that its
	// maker holds locked (flock) as long as he lives. It is in no region, so
	// that nothing in the sandbox sees it.
	temporaryMark = ".temporary"
	// emptyAfter is how old a temporary thread's directory without a mark
	// must be for gc: far longer than it takes to make one.
	emptyAfter = time.Minute
)

// temporary is a thread whose mark this process holds.
type temporary struct {
	p    *Provider
	key  mapping.Key
	mark *os.File
}

// MakeTemporary implements [provider.TemporaryMaker].
func (p *Provider) MakeTemporary(_ context.Context, user string) (provider.TemporaryThread, error) {
	key := mapping.Key{User: user}.Normalize()
	if err := key.Validate(); err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Op: "make thread", Reason: err.Error()}
	}
	home, err := hostpath.Open(p.home)
	if err != nil {
		return nil, hostError("make thread", "", "", err)
	}
	defer home.Close()
	threads, err := hostpath.MakeDirs(home, 0o755, "users", key.User, "threads")
	if err != nil {
		return nil, hostError("make thread", "", "", err)
	}
	defer threads.Close()
	for {
		var b [6]byte
		rand.Read(b[:])
		key.Thread = temporaryPrefix + hex.EncodeToString(b[:])
		mark, err := markTemporary(threads, key.Thread)
		if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOENT) {
			continue // taken, or taken away by a gc that was faster than the lock
		}
		if err != nil {
			return nil, hostError("make thread", key.String(), "", err)
		}
		return &temporary{p, key, mark}, nil
	}
}

// markTemporary makes a thread's directory with a locked mark. ENOENT: a gc
// found it before it was locked.
func markTemporary(threads *os.File, name string) (*os.File, error) {
	if err := unix.Mkdirat(int(threads.Fd()), name, 0o755); err != nil {
		return nil, err
	}
	dir, err := hostpath.Walk(threads, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	mark, err := lockMark(dir, unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	// Nobody removes it from now on; has somebody?
	var held, named unix.Stat_t
	err = unix.Fstat(int(dir.Fd()), &held)
	if err == nil {
		err = unix.Fstatat(int(threads.Fd()), name, &named, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil && held.Ino != named.Ino {
		err = unix.ENOENT
	}
	if err != nil {
		mark.Close()
		return nil, err
	}
	return mark, nil
}

// lockMark opens and locks the mark in a thread's directory. EAGAIN: its maker
// lives. ENOENT: there is none, or none any more.
func lockMark(dir *os.File, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), temporaryMark, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0o600)
	if err != nil {
		return nil, err
	}
	mark := os.NewFile(uintptr(fd), temporaryMark)
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && st.Nlink == 0 {
		err = unix.ENOENT
	}
	if err != nil {
		mark.Close()
		return nil, err
	}
	return mark, nil
}

// Key implements [provider.TemporaryThread].
func (t *temporary) Key() mapping.Key { return t.key }

// Remove implements [provider.TemporaryThread].
func (t *temporary) Remove(ctx context.Context) error {
	defer t.mark.Close()
	return t.p.Remove(ctx, t.key, provider.RemoveNow)
}

// Keep implements [provider.TemporaryThread].
func (t *temporary) Keep() error {
	defer t.mark.Close()
	dir, err := t.p.OpenDataDir(context.Background(), t.key)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Unlinkat(int(dir.Fd()), temporaryMark, 0); err != nil {
		return hostError("keep thread", t.key.String(), "", err)
	}
	return nil
}

// collectTemporary removes a temporary thread whose maker is gone, and reports
// whether it did. One of that name without a mark is a thread like any other,
// unless it is empty.
func (p *Provider) collectTemporary(ctx context.Context, threads *os.File, key mapping.Key) (bool, error) {
	dir, err := hostpath.Walk(threads, key.Thread)
	if err != nil {
		return false, nil // no directory, or gone
	}
	defer dir.Close()
	mark, err := lockMark(dir, 0)
	switch {
	case err == nil:
		defer mark.Close()
		if err := p.Remove(ctx, key, provider.RemoveNow); err != nil {
			return false, err
		}
		return true, nil
	case errors.Is(err, unix.ENOENT):
		var st unix.Stat_t
		if unix.Fstat(int(dir.Fd()), &st) != nil || time.Since(time.Unix(st.Ctim.Unix())) < emptyAfter {
			return false, nil
		}
		// Killed between two system calls. It fails unless it is empty.
		return unix.Unlinkat(int(threads.Fd()), key.Thread, unix.AT_REMOVEDIR) == nil, nil
	}
	return false, nil
}
