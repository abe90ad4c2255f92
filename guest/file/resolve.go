package file

import (
	"errors"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// maxPath is PATH_MAX without the final NUL (path_resolution(7)).
const maxPath = 4095

// maxLinks is how many symbolic links one path may lead through, as in the
// kernel (path_resolution(7)).
const maxLinks = 40

// CheckPath accepts what the kernel could resolve from the root: an absolute
// path without NUL bytes and no longer than PATH_MAX. Kind: invalid.
func CheckPath(op, p string) error {
	switch {
	case p == "":
		return refuse(provider.Invalid, op, "", "the path is empty", "give an absolute path, such as /mnt/user-data/workspace/FILE")
	case strings.ContainsRune(p, 0):
		return refuse(provider.Invalid, op, "", "the path has a NUL byte", "file names cannot hold one")
	case !path.IsAbs(p):
		return refuse(provider.Invalid, op, clip(p), "the path is not absolute", "give an absolute path, such as /mnt/user-data/workspace/FILE")
	case len(p) > maxPath:
		return refuse(provider.Invalid, op, clip(p), "the path is longer than 4095 bytes", "give a shorter path")
	}
	return nil
}

// clip keeps a nonsensical path from filling an error.
func clip(p string) string {
	const most = 200
	if len(p) <= most {
		return p
	}
	return strings.ToValidUTF8(p[:most], "") + "..."
}

// openat opens relative to a directory and follows symbolic links, but not
// procfs's magic ones. O_CLOEXEC is added.
func openat(dir int, p string, flags int, mode uint32) (int, error) {
	return openResolve(dir, p, flags, mode, unix.RESOLVE_NO_MAGICLINKS)
}

// openBelow opens relative to a directory and follows no link at all.
func openBelow(dir int, p string, flags int) (int, error) {
	return openResolve(dir, p, flags, 0, unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_SYMLINKS)
}

func openResolve(dir int, p string, flags int, mode uint32, resolve uint64) (int, error) {
	if !haveOpenat2() {
		return walkOpen(dir, p, flags, mode, resolve)
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Mode: uint64(mode), Resolve: resolve}
	for stale := 0; ; {
		fd, err := unix.Openat2(dir, p, &how)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ESTALE) && stale < maxStale:
			stale++
		default:
			return fd, err
		}
	}
}

// maxStale is how often a path is walked anew because what was found on it
// was gone before it could be opened. The kernel itself tries once more.
const maxStale = 3

// openDir opens a directory, for a look or for what shall be made in it. It
// is a real open and not O_PATH, which is content with what the kernel
// remembers of a name: a network or FUSE file system then says that the
// directory has been replaced, and the kernel looks again. O_PATH must do for
// one that can be searched and not listed.
func openDir(dir int, p string) (int, error) {
	fd, err := openat(dir, p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EACCES) {
		return openat(dir, p, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	return fd, err
}

// openPlace opens a path without touching what lies there (O_PATH) and says
// what it is. Anything on procfs is refused.
func openPlace(op, p string) (int, *unix.Stat_t, error) {
	if err := CheckPath(op, p); err != nil {
		return -1, nil, err
	}
	fd, err := openat(unix.AT_FDCWD, p, unix.O_PATH, 0)
	if err != nil {
		return -1, nil, fail(op, p, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, nil, fail(op, p, err)
	}
	if err := refuseProc(op, p, fd); err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, &st, nil
}

// refuseProc refuses a place on procfs: its files tell of the process that
// reads them, which would be the guest.
func refuseProc(op, p string, fd int) error {
	proc, err := isProc(fd)
	if err != nil {
		return fail(op, p, err)
	}
	if proc {
		return refuse(provider.Denied, op, p, "files in /proc tell about the process that reads them, so file calls do not open them", "use a command, such as cat")
	}
	return nil
}

func isProc(fd int) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		if errors.Is(err, unix.ENOSYS) {
			return false, nil // a file system without statfs is not procfs
		}
		return false, err
	}
	return fs.Type == unix.PROC_SUPER_MAGIC, nil
}

// kindOf names a file type as [provider.Entry] does.
func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	default:
		return "device"
	}
}

// target is where a write goes: an open directory and a name in it that is
// not a symbolic link. The holder closes dir.
type target struct {
	dir  int
	name string
	// old is what is there now; nil means nothing.
	old *unix.Stat_t
}

func (t *target) close() { unix.Close(t.dir) }

// refresh looks again at what is there.
func (t *target) refresh() error {
	var st unix.Stat_t
	err := unix.Fstatat(t.dir, t.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		t.old = nil
		return nil
	case err != nil:
		return err
	}
	t.old = &st
	return nil
}

// locate resolves a path to write to, through symbolic links, to the place
// where the bytes shall be; missing directories above it are made.
func locate(op, p string) (*target, error) {
	if err := CheckPath(op, p); err != nil {
		return nil, err
	}
	from, rest := unix.AT_FDCWD, p
	defer func() {
		if from != unix.AT_FDCWD {
			unix.Close(from)
		}
	}()
	for range maxLinks {
		dirPath, name := path.Split(rest)
		if name == "" || name == "." || name == ".." {
			return nil, refuse(provider.Invalid, op, p, "it is a directory", "name a file")
		}
		dir, err := openDirMake(from, dirPath)
		if err != nil {
			return nil, fail(op, p, err)
		}
		if from != unix.AT_FDCWD {
			unix.Close(from)
		}
		from = dir
		// Also on the way: the text of a link in /proc/PID/fd is a path of
		// the guest's, which may be one of the host.
		if err := refuseProc(op, p, dir); err != nil {
			return nil, err
		}
		t := &target{dir: dir, name: name}
		if err := t.refresh(); err != nil {
			return nil, fail(op, p, err)
		}
		if t.old == nil || t.old.Mode&unix.S_IFMT != unix.S_IFLNK {
			from = unix.AT_FDCWD // the target owns it now
			return t, nil
		}
		if rest, err = readlinkat(dir, name); err != nil {
			return nil, fail(op, p, err)
		}
	}
	return nil, fail(op, p, unix.ELOOP)
}

func readlinkat(dir int, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}

// openDirMake opens a directory and makes it, and those above it, where they
// are missing (mkdir -p).
func openDirMake(from int, dir string) (int, error) {
	if dir == "" {
		dir = "."
	}
	fd, err := openDir(from, dir)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	start := "."
	if path.IsAbs(dir) {
		start = "/"
	}
	cur, err := openDir(from, start)
	if err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(dir, "/") {
		if name == "" || name == "." {
			continue
		}
		next, err := openDir(cur, name)
		if errors.Is(err, unix.ENOENT) {
			if err := unix.Mkdirat(cur, name, 0o777); err != nil && !errors.Is(err, unix.EEXIST) {
				unix.Close(cur)
				return -1, err
			}
			next, err = openDir(cur, name)
		}
		unix.Close(cur)
		if err != nil {
			return -1, err
		}
		cur = next
	}
	return cur, nil
}
