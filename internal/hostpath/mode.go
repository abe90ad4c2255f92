package hostpath

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// RestoreOwner gives the owner of the directory at parts below dir, and of
// those on the way, the rights to read, write and enter it. No symlink is
// followed.
func RestoreOwner(dir *os.File, parts ...string) error {
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	defer func() { unix.Close(fd) }()
	for _, name := range parts {
		if err := CheckName(name); err != nil {
			return err
		}
		next, err := retry(func() (int, error) { return unix.Openat(fd, name, unix.O_PATH|dirFlags, 0) })
		if err != nil {
			return &os.PathError{Op: "open", Path: name, Err: err}
		}
		unix.Close(fd)
		fd = next
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		if st.Mode&0o700 == 0o700 {
			continue
		}
		// An O_PATH descriptor has no fchmod; this is the same file.
		if err := unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), st.Mode&0o7777|0o700); err != nil {
			return &os.PathError{Op: "chmod", Path: name, Err: err}
		}
	}
	return nil
}
