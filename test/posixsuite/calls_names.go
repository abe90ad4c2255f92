package posixsuite

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procFD is the link to what a descriptor of this process holds.
func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// nameCalls make, remove and read names.
func nameCalls() []call {
	calls := []call{
		only("rmdir", func(x act) error { return unix.Rmdir(x.path) }),
		only("unlink", func(x act) error { return unix.Unlink(x.path) }),
		only("unlinkat unknown flag", func(x act) error { return unix.Unlinkat(unix.AT_FDCWD, x.path, 0x8000) }),
		only("symlink", func(x act) error { return unix.Symlink("text", x.path) }),
		only("symlink empty", func(x act) error { return unix.Symlink("", x.path) }),
		only("symlink 4095", func(x act) error { return unix.Symlink(strings.Repeat("t", 4095), x.path) }),
		only("symlink 4096", func(x act) error { return unix.Symlink(strings.Repeat("t", 4096), x.path) }),
		{name: "readlink", do: func(x act) (string, error) { return readlink(x, 4096) }},
		{name: "readlink short", do: func(x act) (string, error) { return readlink(x, 2) }},
		{name: "readlink 0", do: func(x act) (string, error) { return readlink(x, 0) }},
		{name: "list", do: func(x act) (string, error) { return listed(x.path) }},
		only("chdir", func(x act) error {
			if err := unix.Chdir(x.path); err != nil {
				return err
			}
			return unix.Chdir("/")
		}),
		{name: "bind", do: bind},
		{name: "connect", do: connect},
	}
	for _, mode := range []uint32{0o755, 0, 0o7777} {
		calls = append(calls, only(fmt.Sprintf("mkdir %o", mode), func(x act) error { return unix.Mkdir(x.path, mode) }))
	}
	calls = append(calls, only("mkdir umask 077", func(x act) error {
		defer unix.Umask(unix.Umask(0o077))
		return unix.Mkdir(x.path, 0o777)
	}))
	for _, n := range []struct {
		name   string
		mode   uint32
		device int
	}{
		{"regular", unix.S_IFREG | 0o6644, 0}, {"no type", 0o644, 0}, {"fifo", unix.S_IFIFO | 0o666, 0}, {"socket", unix.S_IFSOCK | 0o700, 0},
		{"character device", unix.S_IFCHR | 0o600, int(unix.Mkdev(1, 3))}, {"block device", unix.S_IFBLK | 0o600, int(unix.Mkdev(7, 300))},
		{"whiteout", unix.S_IFCHR, 0}, {"directory", unix.S_IFDIR | 0o755, 0}, {"symlink", unix.S_IFLNK | 0o777, 0},
	} {
		calls = append(calls, only("mknod "+n.name, func(x act) error { return unix.Mknod(x.path, n.mode, n.device) }))
	}
	return append(calls, only("mknod umask 022", func(x act) error {
		defer unix.Umask(unix.Umask(0o022))
		return unix.Mknod(x.path, unix.S_IFREG|0o666, 0)
	}))
}

func readlink(x act, size int) (string, error) {
	buf := make([]byte, size)
	n, err := pathReadlink(x.path, buf)
	return strings.ReplaceAll(string(buf[:n]), x.dir, "DIR"), err
}

// bind makes a socket. A socket's address holds a short path only, so it is
// relative to the directory of the case.
func bind(x act) (string, error) {
	return "", atDirectory(x, func(fd int, at *unix.SockaddrUnix) error { return unix.Bind(fd, at) })
}

func connect(x act) (string, error) {
	return "", atDirectory(x, func(fd int, at *unix.SockaddrUnix) error { return unix.Connect(fd, at) })
}

func atDirectory(x act, do func(int, *unix.SockaddrUnix) error) error {
	path := strings.TrimPrefix(x.path, x.dir+"/")
	if len(path) > 100 || path == "" {
		return unix.EINVAL // the address has no room, or would be an unnamed one
	}
	if err := unix.Chdir(x.dir); err != nil {
		return err
	}
	defer unix.Chdir("/")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd, &unix.SockaddrUnix{Name: path})
}
