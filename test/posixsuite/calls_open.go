package posixsuite

import (
	"strings"

	"golang.org/x/sys/unix"
)

// openCalls are open(2) with the combinations of flags that matter. All have
// O_NONBLOCK, as a FIFO would wait otherwise.
func openCalls() []call {
	access := []struct {
		name string
		flag int
	}{{"RDONLY", unix.O_RDONLY}, {"WRONLY", unix.O_WRONLY}, {"RDWR", unix.O_RDWR}, {"access 3", 3}}
	with := []struct {
		name string
		flag int
	}{
		{"", 0},
		{"CREAT", unix.O_CREAT},
		{"CREAT EXCL", unix.O_CREAT | unix.O_EXCL},
		{"CREAT NOFOLLOW", unix.O_CREAT | unix.O_NOFOLLOW},
		{"CREAT DIRECTORY", unix.O_CREAT | unix.O_DIRECTORY},
		{"TRUNC", unix.O_TRUNC},
		{"CREAT TRUNC", unix.O_CREAT | unix.O_TRUNC},
		{"CREAT APPEND", unix.O_CREAT | unix.O_APPEND},
		{"EXCL", unix.O_EXCL},
		{"DIRECTORY", unix.O_DIRECTORY},
		{"DIRECTORY NOFOLLOW", unix.O_DIRECTORY | unix.O_NOFOLLOW},
		{"NOFOLLOW", unix.O_NOFOLLOW},
		{"NOATIME", unix.O_NOATIME},
		{"PATH", unix.O_PATH},
		{"PATH NOFOLLOW", unix.O_PATH | unix.O_NOFOLLOW},
		{"TMPFILE", unix.O_TMPFILE},
		{"TMPFILE EXCL", unix.O_TMPFILE | unix.O_EXCL},
		{"SYNC", unix.O_SYNC},
		{"APPEND", unix.O_APPEND},
	}
	var calls []call
	for _, a := range access {
		for _, w := range with {
			flags := a.flag | w.flag | unix.O_NONBLOCK | unix.O_CLOEXEC
			if a.flag == 3 && w.flag != 0 && w.flag != unix.O_CREAT {
				continue
			}
			calls = append(calls, call{name: strings.TrimSpace("open " + a.name + " " + w.name), do: func(x act) (string, error) {
				return opened(unix.Open(x.path, flags, 0o640))
			}})
		}
	}
	return append(calls,
		call{name: "creat", do: func(x act) (string, error) {
			return opened(unix.Open(x.path, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o7777))
		}},
		call{name: "open CREAT umask 027", do: func(x act) (string, error) {
			defer unix.Umask(unix.Umask(0o027))
			return opened(unix.Open(x.path, unix.O_CREAT|unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o666))
		}},
		call{name: "open CREAT mode 0", do: func(x act) (string, error) {
			return opened(unix.Open(x.path, unix.O_CREAT|unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
		}},
		call{name: "open TMPFILE and linkat", do: func(x act) (string, error) {
			fd, err := unix.Open(x.dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o640)
			if err != nil {
				return "open", err
			}
			defer unix.Close(fd)
			return "", unix.Linkat(unix.AT_FDCWD, procFD(fd), unix.AT_FDCWD, x.path, unix.AT_SYMLINK_FOLLOW)
		}},
		openat2("openat2 BENEATH", unix.RESOLVE_BENEATH),
		openat2("openat2 NO_SYMLINKS", unix.RESOLVE_NO_SYMLINKS),
		openat2("openat2 NO_XDEV", unix.RESOLVE_NO_XDEV),
		openat2("openat2 IN_ROOT", unix.RESOLVE_IN_ROOT),
	)
}

// openat2 opens a target relative to the directory of its case.
func openat2(name string, resolve uint64) call {
	return call{name: name, do: func(x act) (string, error) {
		dir, err := unix.Open(x.dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(dir)
		how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: resolve}
		return opened(unix.Openat2(dir, strings.TrimPrefix(x.path, x.dir+"/"), &how))
	}}
}
