package rundir

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"golang.org/x/sys/unix"
)

// Lock is the right to make or remove a sandbox. It ends with [Lock.Unlock]
// or with the process.
type Lock struct {
	dir *Dir
	f   *os.File
}

// pollLock is how often a lock that another process holds is tried again;
// flock(2) has no form with a deadline.
const pollLock = 3 * time.Millisecond

// maxRemovals bounds how often one call finds that the directory was removed
// under it: another process would have to do nothing else.
const maxRemovals = 1000

// Lock makes the directory where it is missing and waits for its lock until
// ctx ends.
func (d *Dir) Lock(ctx context.Context) (*Lock, error) {
	for {
		l, err := d.TryLock()
		if err != nil || l != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollLock):
		}
	}
}

// TryLock is [Dir.Lock] without waiting: nil and no error where another holds
// the lock.
func (d *Dir) TryLock() (*Lock, error) {
	var err error
	for range maxRemovals {
		var dir, f *os.File
		var current bool
		if dir, err = d.make(); err == nil {
			f, current, err = lockIn(dir)
			dir.Close()
		}
		switch {
		case errors.Is(err, unix.ENOENT):
			continue // the directory was removed between two calls
		case err != nil:
			return nil, err
		case f == nil:
			return nil, nil
		case !current:
			f.Close() // the file was removed while we waited for it
			continue
		}
		return &Lock{dir: d, f: f}, nil
	}
	if err == nil {
		err = unix.EBUSY
	}
	return nil, err
}

// Locked reports whether somebody holds the sandbox's lock. It makes nothing.
func (d *Dir) Locked() bool {
	f, err := d.openFile(lockFile, unix.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close()
	// A shared lock that is given back at once disturbs no other reader, and
	// a maker who meets it tries again.
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// lockIn opens and locks the lock file below dir. It returns nil where
// another holds it, and whether the file is still the one of that name.
func lockIn(dir *os.File) (f *os.File, current bool, err error) {
	fd, err := unix.Openat(int(dir.Fd()), lockFile, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, false, err
	}
	f = os.NewFile(uintptr(fd), lockFile)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, os.NewSyscallError("flock", err)
	}
	var held, named unix.Stat_t
	if err := unix.Fstat(fd, &held); err != nil {
		f.Close()
		return nil, false, err
	}
	err = unix.Fstatat(int(dir.Fd()), lockFile, &named, unix.AT_SYMLINK_NOFOLLOW)
	return f, err == nil && held.Ino == named.Ino && held.Dev == named.Dev, nil
}

// File is the lock itself. A process that inherits it holds the lock too, and
// nobody else has it until both have closed it (flock(2)). The caller must not
// close it.
func (l *Lock) File() *os.File { return l.f }

// Unlock gives the lock back.
func (l *Lock) Unlock() { l.f.Close() }

// Remove removes the sandbox's directory with all in it and gives the lock
// back. The sandbox must be dead. The lock file goes last: once it is gone
// another process can begin to make the sandbox anew in the same directory,
// which then stays.
func (l *Lock) Remove() error {
	defer l.Unlock()
	dir, err := l.dir.open()
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == lockFile {
			continue
		}
		if err := hostpath.RemoveAll(dir, name); err != nil {
			return err
		}
	}
	if err := hostpath.RemoveAll(dir, lockFile); err != nil {
		return err
	}
	err = unix.Unlinkat(int(l.dir.root.dir.Fd()), l.dir.name, unix.AT_REMOVEDIR)
	if err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.ENOENT) {
		return os.NewSyscallError("rmdir", err)
	}
	return nil
}

// HoldAlive takes the record lock that says a keeper lives, for as long as
// the returned file is open and the process runs. It fails with EAGAIN or
// EACCES where another keeper lives. The process must not open the file a
// second time: closing any descriptor of it drops a record lock (fcntl(2)).
func (d *Dir) HoldAlive() (*os.File, error) {
	f, err := d.openFile(aliveFile, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lk); err != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	return f, nil
}

// Holds reports whether f, which [Dir.HoldAlive] returned, still is the file
// by which others find out that its keeper lives. It is not where somebody
// removed the runtime directory: then the keeper is found by nobody.
func (d *Dir) Holds(f *os.File) bool {
	dir, err := d.open()
	if err != nil {
		return false
	}
	defer dir.Close()
	var held, named unix.Stat_t
	return unix.Fstat(int(f.Fd()), &held) == nil &&
		unix.Fstatat(int(dir.Fd()), aliveFile, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		held.Dev == named.Dev && held.Ino == named.Ino
}

// Keeper returns the pid of the living keeper, as the kernel knows it, or 0.
// It must not be called by the keeper itself.
func (d *Dir) Keeper() (pid int) {
	f, err := d.openFile(aliveFile, unix.O_RDWR)
	if err != nil {
		return 0
	}
	defer f.Close()
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lk); err != nil || lk.Type == unix.F_UNLCK {
		return 0
	}
	return int(lk.Pid)
}

// WaitDead waits until no keeper lives or ctx ends.
func (d *Dir) WaitDead(ctx context.Context) error {
	for d.Keeper() != 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollLock):
		}
	}
	return nil
}
