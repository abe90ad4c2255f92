package quota

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"golang.org/x/sys/unix"
)

// The operator's writes beside the tree. Every name is one component, no
// symbolic link is followed, and errors are those of the system calls, wrapped
// in an *os.PathError; EDQUOT: the quota does not allow it.

func fault(op, name string, e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return &os.PathError{Op: op, Path: name, Err: e}
}

// Mkdir makes a directory; the umask applies.
func (l *Ledger) Mkdir(dir *os.File, name string, perm os.FileMode) error {
	if err := hostpath.CheckName(name); err != nil {
		return err
	}
	fd := int(dir.Fd())
	act := func() unix.Errno {
		return retry(func() error { return unix.Mkdirat(fd, name, uint32(perm.Perm())) })
	}
	if l == nil {
		return fault("mkdir", name, act())
	}
	return fault("mkdir", name, l.Make(fd, unix.S_IFDIR, 0, act))
}

// MakeDirs opens the directory at parts below dir and makes what is missing,
// as [hostpath.MakeDirs] does. The caller closes the result.
func (l *Ledger) MakeDirs(dir *os.File, perm os.FileMode, parts ...string) (*os.File, error) {
	at, err := hostpath.Walk(dir)
	for _, name := range parts {
		if err != nil {
			return nil, err
		}
		var next *os.File
		next, err = hostpath.Walk(at, name)
		if errors.Is(err, unix.ENOENT) {
			if err = l.Mkdir(at, name, perm); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = hostpath.Walk(at, name)
			}
		}
		at.Close()
		at = next
	}
	return at, err
}

// Symlink makes a symbolic link.
func (l *Ledger) Symlink(target string, dir *os.File, name string) error {
	if err := hostpath.CheckName(name); err != nil {
		return err
	}
	fd := int(dir.Fd())
	act := func() unix.Errno { return retry(func() error { return unix.Symlinkat(target, fd, name) }) }
	if l == nil {
		return fault("symlink", name, act())
	}
	return fault("symlink", name, l.Make(fd, unix.S_IFLNK, int64(len(target)), act))
}

// Remove removes a file or, with flags unix.AT_REMOVEDIR, an empty directory.
func (l *Ledger) Remove(dir *os.File, name string, flags int) error {
	if err := hostpath.CheckName(name); err != nil {
		return err
	}
	fd := int(dir.Fd())
	act := func() unix.Errno { return retry(func() error { return unix.Unlinkat(fd, name, flags) }) }
	if l == nil {
		return fault("remove", name, act())
	}
	return fault("remove", name, l.Unname(fd, name, act))
}

// Rename moves a name to another, replacing what is there.
func (l *Ledger) Rename(from *os.File, oldName string, to *os.File, newName string) error {
	for _, name := range []string{oldName, newName} {
		if err := hostpath.CheckName(name); err != nil {
			return err
		}
	}
	a, b := int(from.Fd()), int(to.Fd())
	act := func() unix.Errno { return retry(func() error { return unix.Renameat(a, oldName, b, newName) }) }
	if l == nil {
		return fault("rename", newName, act())
	}
	return fault("rename", newName, l.Move(a, b, newName, act))
}

// File is a regular file that is written beside the tree, counted. Its methods
// must not be called concurrently.
type File struct {
	f *os.File
	l *Ledger
	i inode
}

// Host is the file itself, for what does not change its size. The caller must
// not close it.
func (f *File) Host() *os.File { return f.f }

// Create makes a new file, open for reading and writing; the umask applies,
// EEXIST where there is something. The caller closes it.
func (l *Ledger) Create(dir *os.File, name string, perm os.FileMode) (*File, error) {
	if err := hostpath.CheckName(name); err != nil {
		return nil, err
	}
	parent, fd := int(dir.Fd()), -1
	act := func() unix.Errno {
		return retry(func() (err error) {
			fd, err = unix.Openat(parent, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
			return err
		})
	}
	var e unix.Errno
	if l == nil {
		e = act()
	} else {
		e = l.Make(parent, unix.S_IFREG, 0, act)
	}
	if e != 0 {
		return nil, fault("create", name, e)
	}
	f := &File{f: os.NewFile(uintptr(fd), name), l: l}
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		f.f.Close()
		return nil, fault("stat", name, e)
	}
	f.i = inodeOf(&st)
	if l != nil {
		l.Opened(f.i.dev, f.i.ino, fd)
	}
	return f, nil
}

// Write writes at the file's position. A write that the quota cuts short
// returns EDQUOT with the number of bytes written.
func (f *File) Write(p []byte) (n int, err error) {
	if f.l == nil || len(p) == 0 {
		return f.f.Write(p)
	}
	at, err := f.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	end := func(int64) int64 { return at + int64(len(p)) }
	e := f.l.Write(f.i.dev, f.i.ino, int(f.f.Fd()), end, func(most int64) unix.Errno {
		room := min(int64(len(p)), most-at)
		if room <= 0 {
			return unix.EDQUOT
		}
		n, err = f.f.Write(p[:room])
		return 0
	})
	if e == 0 && err == nil && n < len(p) {
		e = unix.EDQUOT
	}
	if e != 0 {
		err = fault("write", f.f.Name(), e)
	}
	return n, err
}

// Truncate changes the file's size.
func (f *File) Truncate(size int64) error {
	if f.l == nil {
		return f.f.Truncate(size)
	}
	fd := int(f.f.Fd())
	return fault("truncate", f.f.Name(), f.l.Resize(f.i.dev, f.i.ino, fd, func(int64) int64 { return size }, func() unix.Errno {
		return retry(func() error { return unix.Ftruncate(fd, size) })
	}))
}

// Close closes the file.
func (f *File) Close() error {
	if f.l != nil {
		if fd := f.f.Fd(); fd != ^uintptr(0) {
			f.l.Closed(f.i.dev, f.i.ino, int(fd))
		}
	}
	return f.f.Close()
}

// WriteFile replaces the file name in dir atomically, as [hostpath.WriteFile]
// does. Until it is done both the old and the new file count. What would not
// fit is refused before anything is made.
func (l *Ledger) WriteFile(dir *os.File, name string, content []byte, perm os.FileMode) (err error) {
	if l == nil {
		return hostpath.WriteFile(dir, name, content, perm)
	}
	mode, err := hostpath.Replaceable(dir, name)
	if err != nil {
		return err
	}
	if !l.fits(int64(len(content)), 1) {
		return fault("write", name, unix.EDQUOT)
	}
	tmp, f, err := l.createTemp(dir, perm)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			l.Remove(dir, tmp, 0)
		}
	}()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Host().Chmod(os.FileMode(mode & 0o777)); err != nil {
			return err
		}
	}
	return l.Rename(dir, tmp, dir, name)
}

func (l *Ledger) createTemp(dir *os.File, perm os.FileMode) (string, *File, error) {
	for {
		var b [8]byte
		rand.Read(b[:])
		name := hostpath.TempPrefix + hex.EncodeToString(b[:])
		f, err := l.Create(dir, name, perm)
		if !errors.Is(err, unix.EEXIST) {
			return name, f, err
		}
	}
}

// Fits reports whether bytes of content in files new files have room now, for
// refusing early what could only be cut short later. Others may take the room
// meanwhile.
func (l *Ledger) Fits(bytes, files int64) bool { return l == nil || l.fits(bytes, files) }

func (l *Ledger) fits(bytes, files int64) bool {
	return l.run(func(*op) unix.Errno {
		if !l.reserve(roundUp(bytes), files) {
			return unix.EDQUOT
		}
		l.giveBack(roundUp(bytes), files)
		return 0
	}) == 0
}
