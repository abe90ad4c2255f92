package fs

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	statxMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	pathFlags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// errno turns what the unix package returns into a number; 0 is success.
func errno(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(unix.Errno); ok {
		return e
	}
	return unix.EIO
}

// retry repeats a call that a signal interrupted. The Go runtime signals its
// own threads, so the interruption is never the client's.
func retry(call func() error) unix.Errno {
	for {
		if e := errno(call()); e != unix.EINTR {
			return e
		}
	}
}

// statName reads the attributes of a name in a directory, not following it.
func statName(dir int, name string, st *unix.Statx_t) unix.Errno {
	return retry(func() error {
		return unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, statxMask, st)
	})
}

// statFD reads the attributes of an open file; O_PATH is enough.
func statFD(fd int, st *unix.Statx_t) unix.Errno {
	return retry(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, statxMask, st)
	})
}

func openAt(dir int, name string, flags int, mode uint32) (int, unix.Errno) {
	var fd int
	e := retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, e
}

// reopenFD opens a held descriptor's inode again with other flags, through
// the kernel's own link in /proc, so that no name is involved.
func (t *Tree) reopenFD(fd, flags int) (int, unix.Errno) {
	return openAt(t.procFD, strconv.Itoa(fd), flags, 0)
}

// procPath names a descriptor for the few calls that have no *at form.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func device(st *unix.Statx_t) uint64 { return unix.Mkdev(st.Dev_major, st.Dev_minor) }

func fileType(st *unix.Statx_t) uint32 { return uint32(st.Mode) & unix.S_IFMT }
