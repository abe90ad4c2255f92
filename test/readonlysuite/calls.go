package readonlysuite

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// answers are the errors that a call may come back with, 0 for success.
type answers []unix.Errno

// call is one of the 32. Where two forms differ, mounted is for those in which
// the kernel knows that the directory is read-only, and served for that in
// which only the server does.
type call struct {
	name            string
	make            func(p places) error
	mounted, served answers
}

// places are the two directories: ro holds what Prepare makes.
type places struct{ ro, rw string }

func (p places) in(name string) string   { return filepath.Join(p.ro, name) }
func (p places) mine(name string) string { return filepath.Join(p.rw, name) }

// own and foreign are names of the files that Prepare and Try make.
const (
	file  = "file"
	dir   = "dir"
	empty = "empty"
	link  = "link"
	none  = "none"
	fresh = "new"
	own   = "own"
)

func opens(flags int, name string) func(places) error {
	return func(p places) error {
		fd, err := unix.Open(p.in(name), flags|unix.O_CLOEXEC, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func access(name string) func(places) error {
	return func(p places) error { return unix.Access(p.in(name), unix.W_OK) }
}

// notReadOnly is what the call of statvfs answers where ST_RDONLY is not set.
const notReadOnly = unix.ENOTSUP

// calls are all of them.
func calls() []call {
	ok, erofs := answers{0}, answers{unix.EROFS}
	exists, border := answers{unix.EEXIST}, answers{unix.EXDEV}
	same := func(name string, make func(places) error, a answers) call { return call{name, make, a, a} }
	now, then := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, []unix.Timespec{{Sec: 1}, {Sec: 2}}
	at := unix.AT_FDCWD
	return []call{
		same("open O_WRONLY", opens(unix.O_WRONLY, file), erofs),
		same("open O_RDWR", opens(unix.O_RDWR, file), erofs),
		same("open O_RDONLY|O_TRUNC", opens(unix.O_RDONLY|unix.O_TRUNC, file), erofs),
		same("open O_WRONLY|O_APPEND", opens(unix.O_WRONLY|unix.O_APPEND, file), erofs),
		same("open O_CREAT of a file", opens(unix.O_RDONLY|unix.O_CREAT, file), ok),
		same("open O_CREAT|O_EXCL of a file", opens(unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL, file), exists),
		same("open O_CREAT of a new name", opens(unix.O_WRONLY|unix.O_CREAT, fresh), erofs),
		same("open O_TMPFILE", opens(unix.O_RDWR|unix.O_TMPFILE, dir), erofs),
		same("mkdir of a name in use", func(p places) error { return unix.Mkdir(p.in(dir), 0o755) }, exists),
		same("mkdir", func(p places) error { return unix.Mkdir(p.in(fresh), 0o755) }, erofs),
		same("mknod", func(p places) error { return unix.Mknod(p.in(fresh), unix.S_IFREG|0o644, 0) }, erofs),
		same("symlink", func(p places) error { return unix.Symlink("x", p.in(fresh)) }, erofs),
		same("unlink", func(p places) error { return unix.Unlink(p.in(file)) }, erofs),
		{"unlink of a missing name", func(p places) error { return unix.Unlink(p.in(none)) }, erofs, answers{unix.ENOENT}},
		same("rmdir", func(p places) error { return unix.Rmdir(p.in(empty)) }, erofs),
		same("rename inside", func(p places) error { return unix.Rename(p.in(file), p.in(fresh)) }, erofs),
		same("chmod", func(p places) error { return unix.Chmod(p.in(file), 0o600) }, erofs),
		same("chown", func(p places) error { return unix.Chown(p.in(file), unix.Geteuid(), unix.Getegid()) }, erofs),
		same("lchown", func(p places) error { return unix.Lchown(p.in(link), unix.Geteuid(), unix.Getegid()) }, erofs),
		same("utimensat now", func(p places) error { return unix.UtimesNanoAt(at, p.in(file), now, 0) }, erofs),
		same("utimensat", func(p places) error { return unix.UtimesNanoAt(at, p.in(file), then, 0) }, erofs),
		same("truncate", func(p places) error { return unix.Truncate(p.in(file), 0) }, erofs),
		same("setxattr", func(p places) error { return unix.Setxattr(p.in(file), "user.a", []byte("b"), 0) }, erofs),
		same("removexattr", func(p places) error { return unix.Removexattr(p.in(file), "user.a") }, erofs),
		{"rename out", func(p places) error { return unix.Rename(p.in(file), p.mine(fresh)) }, border, erofs},
		{"rename in", func(p places) error { return unix.Rename(p.mine(own), p.in(fresh)) }, border, erofs},
		{"link out", func(p places) error { return unix.Link(p.in(file), p.mine(fresh)) }, border, erofs},
		same("link in", func(p places) error { return unix.Link(p.mine(own), p.in(fresh)) }, erofs),
		// Its parent is in the writable mount, or is a directory of the table's.
		{"rename of the directory itself", func(p places) error { return unix.Rename(p.ro, p.mine(fresh)) },
			answers{unix.EBUSY, unix.EXDEV}, erofs},
		{"access W_OK of a file", access(file), erofs, ok},
		{"access W_OK of a directory", access(""), erofs, ok},
		{"statvfs ST_RDONLY", func(p places) error {
			var st unix.Statfs_t
			err := unix.Statfs(p.ro, &st)
			if err == nil && st.Flags&unix.ST_RDONLY == 0 {
				return notReadOnly
			}
			return err
		}, ok, answers{notReadOnly}},
	}
}
