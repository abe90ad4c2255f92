package hostpath

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const dirFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// Open opens a directory that the operator named, following symlinks on the
// way: its path is trusted. The caller closes it.
func Open(path string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// RealPath returns the path of an open directory with no symlink in it.
func RealPath(dir *os.File) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
}

// Walk opens the directory at parts below dir. Every part is one component; a
// symlink among them is ENOTDIR (ELOOP where it is the last). The caller closes
// the result; dir stays open.
func Walk(dir *os.File, parts ...string) (*os.File, error) {
	return walk(dir, parts, false, 0)
}

// MakeDirs is [Walk], making the directories that are missing with perm (the
// umask applies).
func MakeDirs(dir *os.File, perm os.FileMode, parts ...string) (*os.File, error) {
	return walk(dir, parts, true, perm)
}

func walk(dir *os.File, parts []string, create bool, perm os.FileMode) (*os.File, error) {
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	for _, name := range parts {
		if err := CheckName(name); err != nil {
			unix.Close(fd)
			return nil, err
		}
		if create {
			err := unix.Mkdirat(fd, name, uint32(perm.Perm()))
			if err != nil && !errors.Is(err, unix.EEXIST) {
				unix.Close(fd)
				return nil, &os.PathError{Op: "mkdir", Path: name, Err: err}
			}
		}
		next, err := retry(func() (int, error) { return unix.Openat(fd, name, unix.O_RDONLY|dirFlags, 0) })
		unix.Close(fd)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		fd = next
	}
	return os.NewFile(uintptr(fd), strings.Join(parts, "/")), nil
}

// CheckName refuses what is not one plain path component.
func CheckName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return &os.PathError{Op: "open", Path: name, Err: unix.EINVAL}
	}
	return nil
}

// Split cuts a relative path into components and refuses "..", ".", an empty
// component and an absolute path.
func Split(rel string) ([]string, error) {
	if rel == "" {
		return nil, nil
	}
	parts := strings.Split(rel, "/")
	for _, p := range parts {
		if err := CheckName(p); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
