package posixsuite

import (
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System calls that the library lacks, or changes on the way.

func setGroups(groups []uint32) error {
	var p unsafe.Pointer
	if len(groups) > 0 {
		p = unsafe.Pointer(&groups[0])
	}
	_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(p), 0)
	return result(e)
}

func result(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// faccessat2 is the system call; the library's wrapper decides by itself.
func faccessat2(path string, mode, flags int) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall6(unix.SYS_FACCESSAT2, dirFDCwd, uintptr(unsafe.Pointer(p)), uintptr(mode), uintptr(flags), 0, 0)
	return result(e)
}

// access is access(2).
func access(path string, mode int) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_FACCESSAT, uintptr(dirFDCwd), uintptr(unsafe.Pointer(p)), uintptr(mode))
	return result(e)
}

// dirFDCwd is AT_FDCWD as the kernel's registers have it.
const dirFDCwd = ^uintptr(0) - 99

func fchmodat2(path string, mode uint32, flags int) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall6(unix.SYS_FCHMODAT2, dirFDCwd, uintptr(unsafe.Pointer(p)), uintptr(mode), uintptr(flags), 0, 0)
	return result(e)
}

// utimensat keeps a nil pointer apart from two times of now.
func utimensat(path string, times *[2]unix.Timespec, flags int) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, dirFDCwd, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(times)), uintptr(flags), 0, 0)
	return result(e)
}

func futimens(fd int, times *[2]unix.Timespec) error {
	_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(times)), 0, 0, 0)
	return result(e)
}

// chown is chown(2) for both processors.
func chown(path string, uid, gid, flags int) error {
	return unix.Fchownat(unix.AT_FDCWD, path, uid, gid, flags)
}

// pathReadlink is readlink(2), which the library does not call with an empty
// buffer.
func pathReadlink(path string, buf []byte) (int, error) {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return 0, err
	}
	var start unsafe.Pointer
	if len(buf) > 0 {
		start = unsafe.Pointer(&buf[0])
	}
	n, _, e := unix.Syscall6(unix.SYS_READLINKAT, dirFDCwd, uintptr(unsafe.Pointer(p)), uintptr(start), uintptr(len(buf)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// listed is how a directory is listed by name: the number of entries but for
// "." and "..".
func listed(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		return "getdents", err
	}
	_, _, names := unix.ParseDirent(buf[:n], -1, nil)
	slices.Sort(names)
	return strings.Join(names, " "), nil
}
