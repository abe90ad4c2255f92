package hostpath

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// RemoveAll removes name and everything below it, without leaving the file
// system that dir is on: a mount in the way is EXDEV, and nothing below it is
// touched. A missing name is no error.
func RemoveAll(dir *os.File, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	return removeAt(int(dir.Fd()), name, st.Dev)
}

func removeAt(dirfd int, name string, dev uint64) error {
	err := unix.Unlinkat(dirfd, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return &os.PathError{Op: "unlink", Path: name, Err: err}
	}
	fd, err := retry(func() (int, error) { return unix.Openat(dirfd, name, unix.O_RDONLY|dirFlags, 0) })
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Dev != dev {
		return &os.PathError{Op: "remove", Path: name, Err: unix.EXDEV}
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, child := range names {
		if err := removeAt(fd, child, dev); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(dirfd, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}
