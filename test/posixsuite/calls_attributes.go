package posixsuite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const nofollow = unix.AT_SYMLINK_NOFOLLOW

// attributeCalls read and set what stat shows, and ask for permissions.
func attributeCalls() []call {
	calls := []call{
		{name: "stat", do: func(x act) (string, error) { return statOf(unix.Stat, x.path) }},
		{name: "lstat", do: func(x act) (string, error) { return statOf(unix.Lstat, x.path) }},
		{name: "fstatat EMPTY_PATH", do: func(x act) (string, error) {
			return statOf(func(p string, st *unix.Stat_t) error {
				return unix.Fstatat(unix.AT_FDCWD, p, st, unix.AT_EMPTY_PATH|nofollow)
			}, x.path)
		}},
		{name: "statx", do: statx},
		{name: "statfs", do: func(x act) (string, error) {
			var st unix.Statfs_t
			err := unix.Statfs(x.path, &st)
			return fmt.Sprintf("bsize %d namelen %d", st.Bsize, st.Namelen), err
		}},
		{name: "name_to_handle_at", do: func(x act) (string, error) {
			_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, x.path, 0)
			return "", err
		}},
		{name: "open_by_handle_at", do: func(x act) (string, error) {
			handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, x.path, 0)
			if err != nil {
				return "no handle", err
			}
			mount, err := unix.Open(x.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return "the directory", err
			}
			defer unix.Close(mount)
			return opened(unix.OpenByHandleAt(mount, handle, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC))
		}},
		{name: "inotify_add_watch", do: func(x act) (string, error) {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return "init", err
			}
			defer unix.Close(fd)
			_, err = unix.InotifyAddWatch(fd, x.path, unix.IN_CREATE)
			return "", err
		}},
	}
	for _, mode := range []uint32{0, 0o644, 0o7777, 0o2755, 0o1777} {
		calls = append(calls, only(fmt.Sprintf("chmod %o", mode), func(x act) error { return unix.Chmod(x.path, mode) }))
	}
	calls = append(calls, only("fchmodat2 NOFOLLOW", func(x act) error { return fchmodat2(x.path, 0o600, nofollow) }))
	for _, size := range []int64{0, 3, 20, 100, 1 << 20, -1, 1 << 62} {
		calls = append(calls, only(fmt.Sprintf("truncate %d", size), func(x act) error { return unix.Truncate(x.path, size) }))
	}
	for _, o := range []struct {
		name     string
		uid, gid int
	}{
		{"nothing", -1, -1}, {"to the owner", owner.UID, owner.GID}, {"to the owner's group", -1, owner.GID}, {"to another", other.UID, -1},
		{"to another's group", -1, other.GID}, {"to the caller", unix.Geteuid(), -1}, {"to root", 0, 0},
	} {
		calls = append(calls, only("chown "+o.name, func(x act) error { return chown(x.path, o.uid, o.gid, 0) }))
		calls = append(calls, only("lchown "+o.name, func(x act) error { return chown(x.path, o.uid, o.gid, nofollow) }))
	}
	for _, mode := range []int{0, unix.R_OK, unix.W_OK, unix.X_OK, unix.R_OK | unix.W_OK, 8} {
		calls = append(calls, only(fmt.Sprintf("access %d", mode), func(x act) error { return access(x.path, mode) }))
	}
	calls = append(calls,
		only("faccessat2 EACCESS W", func(x act) error { return faccessat2(x.path, unix.W_OK, unix.AT_EACCESS) }),
		only("faccessat2 NOFOLLOW R", func(x act) error { return faccessat2(x.path, unix.R_OK, nofollow) }),
		only("faccessat2 unknown flag", func(x act) error { return faccessat2(x.path, unix.R_OK, 0x8000) }),
	)
	for name, times := range timePairs() {
		calls = append(calls, only("utimensat "+name, func(x act) error { return utimensat(x.path, times, 0) }))
	}
	calls = append(calls, only("utimensat NOFOLLOW given", func(x act) error { return utimensat(x.path, timePairs()["given"], nofollow) }))
	return append(calls, xattrCalls()...)
}

// timePairs are the pairs of times that utimensat is given; nil is none.
func timePairs() map[string]*[2]unix.Timespec {
	given, now, omit := unix.Timespec{Sec: givenTime, Nsec: 123456789}, unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}
	return map[string]*[2]unix.Timespec{
		"none": nil, "given": {given, given}, "now": {now, now}, "omit": {omit, omit}, "omit given": {omit, given}, "given omit": {given, omit},
		"omit now": {omit, now}, "now omit": {now, omit}, "now given": {now, given}, "bad": {given, {Nsec: 1_000_000_000}},
	}
}

func statOf(stat func(string, *unix.Stat_t) error, path string) (string, error) {
	var st unix.Stat_t
	if err := stat(path, &st); err != nil {
		return "", err
	}
	return described(&st), nil
}

func statx(x act) (string, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, x.path, nofollow, unix.STATX_BASIC_STATS, &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%o nlink %d owner %d:%d size %d basic %v", st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Mask&unix.STATX_BASIC_STATS == unix.STATX_BASIC_STATS), nil
}

func xattrCalls() []call {
	var calls []call
	for _, name := range []string{"user.test", "trusted.test", "security.test", "system.unknown", "unknown.test", "user.", "noprefix"} {
		calls = append(calls,
			only("setxattr "+name, func(x act) error { return unix.Setxattr(x.path, name, []byte("value"), 0) }),
			only("getxattr "+name, func(x act) error { _, err := unix.Getxattr(x.path, name, make([]byte, 100)); return err }),
			only("removexattr "+name, func(x act) error { return unix.Removexattr(x.path, name) }),
		)
	}
	return append(calls,
		only("lsetxattr", func(x act) error { return unix.Lsetxattr(x.path, "user.test", []byte("value"), 0) }),
		only("lgetxattr", func(x act) error { _, err := unix.Lgetxattr(x.path, "user.test", nil); return err }),
		only("setxattr REPLACE", func(x act) error { return unix.Setxattr(x.path, "user.test", []byte("value"), unix.XATTR_REPLACE) }),
		call{name: "setxattr and back", do: func(x act) (string, error) {
			if err := unix.Setxattr(x.path, "user.test", []byte("value"), unix.XATTR_CREATE); err != nil {
				return "set", err
			}
			buf := make([]byte, 100)
			n, err := unix.Getxattr(x.path, "user.test", buf)
			return string(buf[:max(n, 0)]), err
		}},
		call{name: "listxattr", do: func(x act) (string, error) {
			buf := make([]byte, 1000)
			n, err := unix.Listxattr(x.path, buf)
			if err != nil {
				return "", err
			}
			names := strings.Split(string(bytes.TrimSuffix(buf[:n], []byte{0})), "\x00")
			slices.Sort(names)
			return strings.Join(names, " "), nil
		}},
	)
}
