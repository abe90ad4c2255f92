package quota

import (
	"math"

	"golang.org/x/sys/unix"
)

// unit is what sizes are rounded up to, and what a directory counts.
const unit = 4096

// inode identifies a file of the host.
type inode struct{ dev, ino uint64 }

// hash spreads inodes over locks.
func (i inode) hash() uint64 {
	h := (i.ino ^ i.dev<<40 ^ i.dev>>24) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func inodeOf(st *unix.Statx_t) inode {
	return inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

// chargeOf is the number of bytes that an inode counts.
func chargeOf(st *unix.Statx_t) int64 {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFLNK:
		if st.Size > math.MaxInt64 {
			return roundUp(math.MaxInt64)
		}
		return roundUp(int64(st.Size))
	case unix.S_IFDIR:
		return unit
	}
	return 0
}

func isDir(st *unix.Statx_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// roundUp returns the least multiple of unit that is not less than size, or
// the greatest there is.
func roundUp(size int64) int64 {
	if size <= 0 {
		return 0
	}
	if size > math.MaxInt64-unit+1 {
		return math.MaxInt64 &^ (unit - 1)
	}
	return (size + unit - 1) &^ (unit - 1)
}

const statMask = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_NLINK | unix.STATX_SIZE | unix.STATX_INO | unix.STATX_UID

// statFD reads the attributes of an open file; O_PATH is enough.
func statFD(fd int, st *unix.Statx_t) unix.Errno {
	return retry(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, statMask, st)
	})
}

// statName reads the attributes of a name in a directory, not following it.
func statName(dir int, name string, st *unix.Statx_t) unix.Errno {
	return retry(func() error {
		return unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, statMask, st)
	})
}

// retry repeats a call that a signal interrupted and returns its number; 0 is
// success.
func retry(call func() error) unix.Errno {
	for {
		switch e := call().(type) {
		case nil:
			return 0
		case unix.Errno:
			if e != unix.EINTR {
				return e
			}
		default:
			return unix.EIO
		}
	}
}
