package hostpath

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// maxRemoveDepth bounds the directories that are held open at once; what
	// lies deeper is moved up first.
	maxRemoveDepth = 64
	// namesAtOnce bounds the names that are held of one directory.
	namesAtOnce = 1024
	// maxPasses bounds how often a directory is read anew because somebody
	// else puts something into it.
	maxPasses = 100
)

// RemoveAll removes name and everything below it, however deep, without leaving
// the file system that dir is on: a mount in the way is EXDEV, and nothing
// below it is touched. No symlink is followed. Directories whose owner has
// taken his own rights away are given them back. A missing name is no error.
func RemoveAll(dir *os.File, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	r := &remover{dev: st.Dev}
	return r.remove(int(dir.Fd()), name, 0)
}

// remover is one removal.
type remover struct {
	dev uint64
	// top is the directory that is removed, into which deep ones are moved.
	top *os.File
	// moved counts those.
	moved int
}

func (r *remover) remove(dirfd int, name string, depth int) error {
	err := unix.Unlinkat(dirfd, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return &os.PathError{Op: "unlink", Path: name, Err: err}
	}
	f, err := r.open(dirfd, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer f.Close()
	if depth == 0 {
		r.top = f
	}
	if depth == maxRemoveDepth {
		return r.moveUp(dirfd, name)
	}
	for pass := 0; pass < maxPasses; pass++ {
		before := r.moved
		if err := r.empty(f, depth); err != nil {
			return err
		}
		err = unix.Unlinkat(dirfd, name, unix.AT_REMOVEDIR)
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			break
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if depth == 0 && r.moved > before {
			pass = 0 // these are our own
		}
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}

// empty removes what a directory holds.
func (r *remover) empty(f *os.File, depth int) error {
	for {
		names, err := f.Readdirnames(namesAtOnce)
		for _, child := range names {
			if err := r.remove(int(f.Fd()), child, depth+1); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// open opens a directory on the same file system, with its owner's rights.
func (r *remover) open(dirfd int, name string) (*os.File, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(dirfd, name, unix.O_PATH|dirFlags, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Dev != r.dev {
		return nil, unix.EXDEV
	}
	if st.Mode&0o700 != 0o700 {
		// An O_PATH descriptor has no fchmod; this is the same file.
		if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o700); err != nil {
			return nil, err
		}
	}
	next, err := retry(func() (int, error) { return unix.Openat(fd, ".", unix.O_RDONLY|dirFlags, 0) })
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(next), name), nil
}

// moveUp moves a deep directory to the top, where the next pass finds it.
func (r *remover) moveUp(dirfd int, name string) error {
	var b [8]byte
	rand.Read(b[:])
	err := unix.Renameat(dirfd, name, int(r.top.Fd()), TempPrefix+hex.EncodeToString(b[:]))
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rename", Path: name, Err: err}
	}
	r.moved++
	return nil
}
