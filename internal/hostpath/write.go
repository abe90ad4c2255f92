package hostpath

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TempPrefix begins the name of a file that [WriteFile] has not finished.
const TempPrefix = ".sandboxfs-tmp-"

// WriteFile replaces the file name in dir atomically with content: a reader
// and a crash see the old file or the new one. The mode of an existing regular
// file is kept, without suid and sgid; a new one gets perm (the umask
// applies). A symlink at name is refused (ELOOP), as is anything else that is
// not a regular file (EINVAL). On an error the old file is untouched and
// nothing is left.
func WriteFile(dir *os.File, name string, content []byte, perm os.FileMode) (err error) {
	mode, err := Replaceable(dir, name)
	if err != nil {
		return err
	}
	fd := int(dir.Fd())
	tmp, f, err := createTemp(fd, perm)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			unix.Unlinkat(fd, tmp, 0)
		}
	}()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(os.FileMode(mode & 0o777)); err != nil {
			return err
		}
	}
	if err := unix.Renameat(fd, tmp, fd, name); err != nil {
		return &os.PathError{Op: "rename", Path: name, Err: err}
	}
	return nil
}

// Replaceable returns the mode of the regular file that [WriteFile] would
// replace, 0 where there is none, or the error with which it would refuse.
func Replaceable(dir *os.File, name string) (mode uint32, err error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	var st unix.Stat_t
	err = unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return 0, nil
	case err != nil:
		return 0, &os.PathError{Op: "stat", Path: name, Err: err}
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return 0, &os.PathError{Op: "open", Path: name, Err: unix.ELOOP}
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return 0, &os.PathError{Op: "open", Path: name, Err: unix.EISDIR}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return 0, &os.PathError{Op: "open", Path: name, Err: unix.EINVAL}
	}
	return st.Mode, nil
}

func createTemp(dirfd int, perm os.FileMode) (string, *os.File, error) {
	for {
		var b [8]byte
		rand.Read(b[:])
		name := TempPrefix + hex.EncodeToString(b[:])
		fd, err := retry(func() (int, error) {
			return unix.Openat(dirfd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
		})
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			return "", nil, &os.PathError{Op: "create", Path: name, Err: err}
		}
		return name, os.NewFile(uintptr(fd), name), nil
	}
}
