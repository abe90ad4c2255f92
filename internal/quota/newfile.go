package quota

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"golang.org/x/sys/unix"
)

// NewFile is a file that is being written and has no name yet, so that nobody
// sees half of it. The caller ends it with [NewFile.Commit] or
// [NewFile.Discard].
type NewFile struct {
	*File
	l   *Ledger
	dir *os.File
	// tmp is its name where the file system has no files without one.
	tmp   string
	ended bool
}

// NewFile begins a file in dir with perm (the umask applies). dir must stay
// open until it is ended. Where the process is killed nothing is left, unless
// the file system does not know O_TMPFILE; then a file is whose name begins
// with hostpath.TempPrefix.
func (l *Ledger) NewFile(dir *os.File, perm os.FileMode) (*NewFile, error) {
	fd := -1
	act := func() (int, unix.Errno) {
		e := retry(func() (err error) {
			fd, err = unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
			return err
		})
		return fd, e
	}
	var e unix.Errno
	if l == nil {
		_, e = act()
	} else {
		e = l.Nameless(act)
	}
	switch e {
	case 0:
		f := &File{f: os.NewFile(uintptr(fd), "new file"), l: l}
		var st unix.Statx_t
		if e := statFD(fd, &st); e != 0 {
			f.f.Close()
			return nil, fault("stat", ".", e)
		}
		f.i = inodeOf(&st)
		return &NewFile{File: f, l: l, dir: dir}, nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL:
		tmp, f, err := l.createTemp(dir, perm)
		if err != nil {
			return nil, err
		}
		return &NewFile{File: f, l: l, dir: dir, tmp: tmp}, nil
	}
	return nil, fault("create", ".", e)
}

// Commit gives the file its name, in place of anything but a directory
// (EISDIR), and closes it. Where it fails the file is discarded.
func (f *NewFile) Commit(name string) (err error) {
	defer func() {
		if err != nil {
			f.Discard()
		}
	}()
	if f.tmp != "" {
		err = f.l.Rename(f.dir, f.tmp, f.dir, name)
	} else {
		err = f.l.place(f.dir, name, func(name string) error {
			path := fmt.Sprintf("/proc/self/fd/%d", f.f.Fd())
			return f.l.link(int(f.f.Fd()), f.dir, func(dir int) error {
				return unix.Linkat(unix.AT_FDCWD, path, dir, name, unix.AT_SYMLINK_FOLLOW)
			})
		})
	}
	if err != nil {
		return err
	}
	f.tmp, f.ended = "", true
	return f.Close()
}

// Discard ends the file without a trace. After it was ended it does nothing.
func (f *NewFile) Discard() {
	if f.ended {
		return
	}
	f.ended = true
	if f.tmp != "" {
		f.l.Remove(f.dir, f.tmp, 0)
	}
	f.Close()
}

// PutSymlink makes a symbolic link, in place of anything but a directory
// (EISDIR).
func (l *Ledger) PutSymlink(target string, dir *os.File, name string) error {
	return l.place(dir, name, func(name string) error { return l.Symlink(target, dir, name) })
}

// PutLink gives what is called old in from one more name in dir, in place of
// anything but a directory (EISDIR).
func (l *Ledger) PutLink(from *os.File, old string, dir *os.File, name string) error {
	if err := hostpath.CheckName(old); err != nil {
		return err
	}
	fd := -1
	if e := retry(func() (err error) {
		fd, err = unix.Openat(int(from.Fd()), old, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	}); e != 0 {
		return fault("link", old, e)
	}
	defer unix.Close(fd)
	return l.place(dir, name, func(name string) error {
		return l.link(fd, dir, func(dir int) error { return unix.Linkat(int(from.Fd()), old, dir, name, 0) })
	})
}

func (l *Ledger) link(fd int, dir *os.File, act func(dir int) error) error {
	do := func() unix.Errno { return retry(func() error { return act(int(dir.Fd())) }) }
	if l == nil {
		return fault("link", ".", do())
	}
	return fault("link", ".", l.Link(fd, int(dir.Fd()), do))
}

// place gives something a name with make, which fails with EEXIST where the
// name is taken; then what has it is replaced atomically.
func (l *Ledger) place(dir *os.File, name string, make func(name string) error) error {
	if err := hostpath.CheckName(name); err != nil {
		return err
	}
	err := make(name)
	for errors.Is(err, unix.EEXIST) {
		var b [8]byte
		rand.Read(b[:])
		tmp := hostpath.TempPrefix + hex.EncodeToString(b[:])
		if err = make(tmp); err != nil {
			continue
		}
		err = l.Rename(dir, tmp, dir, name)
		// A rename between two names of one file does nothing.
		l.Remove(dir, tmp, 0)
		if err != nil {
			return err
		}
	}
	return err
}
