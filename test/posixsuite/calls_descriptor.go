package posixsuite

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// descriptorCalls act on what its owner has opened in several ways.
func descriptorCalls() []call {
	ways := []struct {
		name  string
		flags int
	}{
		{"R", unix.O_RDONLY}, {"W", unix.O_WRONLY}, {"RW", unix.O_RDWR}, {"RW APPEND", unix.O_RDWR | unix.O_APPEND}, {"PATH", unix.O_PATH | unix.O_NOFOLLOW},
	}
	var calls []call
	for _, w := range ways {
		for _, c := range onDescriptor() {
			c.name, c.flags = c.name+" of "+w.name, w.flags|unix.O_NONBLOCK|unix.O_CLOEXEC
			calls = append(calls, c)
		}
	}
	return calls
}

func onDescriptor() []call {
	calls := []call{
		{name: "fstat", do: func(x act) (string, error) {
			var st unix.Stat_t
			err := unix.Fstat(x.fd, &st)
			return described(&st), err
		}},
		{name: "fstatfs", do: func(x act) (string, error) {
			var st unix.Statfs_t
			err := unix.Fstatfs(x.fd, &st)
			return fmt.Sprintf("bsize %d namelen %d", st.Bsize, st.Namelen), err
		}},
		only("fsync", func(x act) error { return unix.Fsync(x.fd) }),
		only("fdatasync", func(x act) error { return unix.Fdatasync(x.fd) }),
		only("sync_file_range", func(x act) error { return unix.SyncFileRange(x.fd, 0, 10, unix.SYNC_FILE_RANGE_WRITE) }),
		only("fchmod", func(x act) error { return unix.Fchmod(x.fd, 0o640) }),
		only("fchmod 7777", func(x act) error { return unix.Fchmod(x.fd, 0o7777) }),
		only("fchown nothing", func(x act) error { return unix.Fchown(x.fd, -1, -1) }),
		only("fchown to the owner", func(x act) error { return unix.Fchown(x.fd, owner.UID, owner.GID) }),
		only("fchown to another", func(x act) error { return unix.Fchown(x.fd, other.UID, other.GID) }),
		only("futimens now", func(x act) error { return futimens(x.fd, nil) }),
		only("futimens given", func(x act) error { return futimens(x.fd, timePairs()["given"]) }),
		only("futimens omit given", func(x act) error { return futimens(x.fd, timePairs()["omit given"]) }),
		only("flock", func(x act) error { return unix.Flock(x.fd, unix.LOCK_EX|unix.LOCK_NB) }),
		only("fchdir", func(x act) error {
			if err := unix.Fchdir(x.fd); err != nil {
				return err
			}
			return unix.Chdir("/")
		}),
		{name: "openat below", do: func(x act) (string, error) {
			return opened(unix.Openat(x.fd, "below", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o644))
		}},
		only("mkdirat below", func(x act) error { return unix.Mkdirat(x.fd, "below", 0o755) }),
		only("unlinkat below", func(x act) error { return unix.Unlinkat(x.fd, "kid", 0) }),
		{name: "readlinkat empty", do: func(x act) (string, error) {
			buf := make([]byte, 100)
			n, err := unix.Readlinkat(x.fd, "", buf)
			return string(buf[:max(n, 0)]), err
		}},
		only("linkat proc", func(x act) error {
			return unix.Linkat(unix.AT_FDCWD, procFD(x.fd), unix.AT_FDCWD, x.dir+"/linked", unix.AT_SYMLINK_FOLLOW)
		}),
		only("linkat EMPTY_PATH", func(x act) error { return unix.Linkat(x.fd, "", unix.AT_FDCWD, x.dir+"/linked", unix.AT_EMPTY_PATH) }),
		{name: "reopen", do: func(x act) (string, error) {
			return opened(unix.Open(procFD(x.fd), unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
		}},
		only("fsetxattr", func(x act) error { return unix.Fsetxattr(x.fd, "user.test", []byte("v"), 0) }),
		only("fgetxattr", func(x act) error { _, err := unix.Fgetxattr(x.fd, "user.test", nil); return err }),
		only("flistxattr", func(x act) error { _, err := unix.Flistxattr(x.fd, nil); return err }),
		{name: "getdents", do: func(x act) (string, error) {
			n, err := unix.Getdents(x.fd, make([]byte, 4096))
			return fmt.Sprint(n > 0), err
		}},
		only("getdents short", func(x act) error { _, err := unix.Getdents(x.fd, make([]byte, 8)); return err }),
		only("F_SETFL APPEND", func(x act) error {
			_, err := unix.FcntlInt(uintptr(x.fd), unix.F_SETFL, unix.O_APPEND)
			return err
		}),
		{name: "F_GETLK", do: func(x act) (string, error) {
			l := unix.Flock_t{Type: unix.F_WRLCK}
			err := unix.FcntlFlock(uintptr(x.fd), unix.F_OFD_GETLK, &l)
			return fmt.Sprint(l.Type), err
		}},
		only("FS_IOC_GETFLAGS", func(x act) error { _, err := unix.IoctlGetInt(x.fd, unix.FS_IOC_GETFLAGS); return err }),
		only("unknown ioctl", func(x act) error { _, err := unix.IoctlGetInt(x.fd, 0x7a7a); return err }),
		only("FICLONE", func(x act) error { return unix.IoctlFileClone(x.fd, x.fd) }),
		only("fadvise", func(x act) error { return unix.Fadvise(x.fd, 0, 10, unix.FADV_WILLNEED) }),
		only("readahead", func(x act) error {
			_, _, e := unix.Syscall(unix.SYS_READAHEAD, uintptr(x.fd), 0, 10)
			return result(e)
		}),
	}
	for _, kind := range []int16{unix.F_RDLCK, unix.F_WRLCK} {
		calls = append(calls, only(fmt.Sprintf("F_OFD_SETLK %d", kind), func(x act) error {
			return unix.FcntlFlock(uintptr(x.fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: 2, Len: 3})
		}))
	}
	calls = append(calls, dataCalls()...)
	return append(calls, allocateCalls()...)
}

// dataCalls read and write.
func dataCalls() []call {
	position := func(fd int) string {
		at, err := unix.Seek(fd, 0, unix.SEEK_CUR)
		return fmt.Sprintf("%s at %d", outcome("", err), at)
	}
	reads := func(name string, read func(fd int, buf []byte) (int, error), size int) call {
		return call{name: name, do: func(x act) (string, error) {
			buf := make([]byte, size)
			n, err := read(x.fd, buf)
			return fmt.Sprintf("%d %q %s", n, buf[:max(n, 0)], position(x.fd)), err
		}}
	}
	pread := func(offset int64) func(int, []byte) (int, error) {
		return func(fd int, buf []byte) (int, error) { return unix.Pread(fd, buf, offset) }
	}
	calls := []call{
		reads("read", unix.Read, 7), reads("read 0", unix.Read, 0), reads("read past the end", unix.Read, 100),
		reads("pread 5", pread(5), 7), reads("pread at the end", pread(20), 7), reads("pread after the end", pread(1000), 7), reads("pread -1", pread(-1), 7),
		reads("preadv", func(fd int, buf []byte) (int, error) { return unix.Preadv(fd, [][]byte{buf[:3], buf[3:]}, 4) }, 7),
	}
	writes := func(name string, write func(fd int) (int, error)) call {
		return call{name: name, do: func(x act) (string, error) {
			n, err := write(x.fd)
			return fmt.Sprintf("%d %s holds %s", n, position(x.fd), contents(x)), err
		}}
	}
	const rwfAppend, rwfUnknown = 0x10, 1 << 30
	calls = append(calls,
		writes("write", func(fd int) (int, error) { return unix.Write(fd, []byte("written")) }),
		writes("write 0", func(fd int) (int, error) { return unix.Write(fd, nil) }),
		writes("pwrite 5", func(fd int) (int, error) { return unix.Pwrite(fd, []byte("written"), 5) }),
		writes("pwrite after the end", func(fd int) (int, error) { return unix.Pwrite(fd, []byte("written"), 100) }),
		writes("pwrite -1", func(fd int) (int, error) { return unix.Pwrite(fd, []byte("written"), -1) }),
		writes("pwrite too far", func(fd int) (int, error) { return unix.Pwrite(fd, []byte("written"), 1<<62) }),
		writes("pwritev", func(fd int) (int, error) { return unix.Pwritev(fd, [][]byte{[]byte("wri"), []byte("tten")}, 3) }),
		writes("pwritev2 APPEND", func(fd int) (int, error) { return unix.Pwritev2(fd, [][]byte{[]byte("written")}, 3, rwfAppend) }),
		writes("pwritev2 unknown flag", func(fd int) (int, error) { return unix.Pwritev2(fd, [][]byte{[]byte("written")}, 3, rwfUnknown) }),
		writes("seek and write", func(fd int) (int, error) {
			if _, err := unix.Seek(fd, 30, unix.SEEK_SET); err != nil {
				return 0, err
			}
			return unix.Write(fd, []byte("written"))
		}),
		writes("copy_file_range to itself", func(fd int) (int, error) {
			from, to := int64(0), int64(20)
			return unix.CopyFileRange(fd, &from, fd, &to, 7, 0)
		}),
		writes("copy_file_range overlapping", func(fd int) (int, error) {
			from, to := int64(0), int64(3)
			return unix.CopyFileRange(fd, &from, fd, &to, 7, 0)
		}),
		writes("copy_file_range unknown flag", func(fd int) (int, error) {
			from, to := int64(0), int64(20)
			return unix.CopyFileRange(fd, &from, fd, &to, 7, 1)
		}),
		writes("splice", func(fd int) (int, error) { return fromPipe(fd, "spliced") }),
		writes("mmap shared", func(fd int) (int, error) {
			m, err := unix.Mmap(fd, 0, 20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return 0, err
			}
			defer unix.Munmap(m)
			var st unix.Stat_t
			if unix.Fstat(fd, &st) != nil || st.Size < 20 {
				return 0, nil // touching it is a signal, not an answer
			}
			copy(m, "mapped")
			return 6, unix.Msync(m, unix.MS_SYNC)
		}),
		writes("mmap private", func(fd int) (int, error) {
			m, err := unix.Mmap(fd, 0, 20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
			if err != nil {
				return 0, err
			}
			return 0, unix.Munmap(m)
		}),
	)
	for _, size := range []int64{0, 5, 100, -1} {
		calls = append(calls, call{name: fmt.Sprintf("ftruncate %d", size), do: func(x act) (string, error) {
			return "", unix.Ftruncate(x.fd, size)
		}})
	}
	for _, s := range []struct {
		name   string
		offset int64
		whence int
	}{
		{"set", 3, unix.SEEK_SET}, {"end", -2, unix.SEEK_END}, {"before", -1, unix.SEEK_SET}, {"data", 0, unix.SEEK_DATA}, {"hole", 0, unix.SEEK_HOLE},
		{"data at 8192", 8192, unix.SEEK_DATA}, {"hole at 8192", 8192, unix.SEEK_HOLE}, {"data after the end", 1 << 30, unix.SEEK_DATA},
		{"hole after the end", 1 << 30, unix.SEEK_HOLE}, {"unknown", 0, 77},
	} {
		calls = append(calls, call{name: "lseek " + s.name, do: func(x act) (string, error) {
			at, err := unix.Seek(x.fd, s.offset, s.whence)
			if at > 1<<20 { // where a directory ends is its filesystem's own matter
				at = -2
			}
			return fmt.Sprint(at), err
		}})
	}
	return calls
}

func allocateCalls() []call {
	var calls []call
	for _, a := range []struct {
		name           string
		mode           uint32
		offset, length int64
	}{
		{"", 0, 0, 10}, {"grow", 0, 10, 9000}, {"KEEP_SIZE", unix.FALLOC_FL_KEEP_SIZE, 0, 9000}, {"PUNCH_HOLE", unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, 2, 3},
		{"PUNCH_HOLE alone", unix.FALLOC_FL_PUNCH_HOLE, 2, 3}, {"ZERO_RANGE", unix.FALLOC_FL_ZERO_RANGE, 2, 3}, {"ZERO_RANGE grow", unix.FALLOC_FL_ZERO_RANGE, 2, 100},
		{"ZERO_RANGE KEEP_SIZE", unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE, 2, 100}, {"COLLAPSE_RANGE", unix.FALLOC_FL_COLLAPSE_RANGE, 0, 4096},
		{"INSERT_RANGE", unix.FALLOC_FL_INSERT_RANGE, 0, 4096}, {"unknown mode", 0x4000, 0, 10}, {"no length", 0, 0, 0}, {"negative", 0, -1, 10}, {"too far", 0, 1 << 62, 1 << 61},
	} {
		calls = append(calls, call{name: strings.TrimSpace("fallocate " + a.name), do: func(x act) (string, error) {
			err := unix.Fallocate(x.fd, a.mode, a.offset, a.length)
			return "holds " + contents(x), err
		}})
	}
	return calls
}

// contents is what the case's file holds, read by its descriptor where that
// reads, zeros and what follows them left out.
func contents(x act) string {
	buf := make([]byte, 200)
	n, err := unix.Pread(x.fd, buf, 0)
	if err != nil {
		return unix.ErrnoName(err.(unix.Errno))
	}
	return fmt.Sprintf("%q", slices.DeleteFunc(buf[:n], func(b byte) bool { return b == 0 }))
}

// fromPipe splices a text into a file.
func fromPipe(fd int, text string) (int, error) {
	p := make([]int, 2)
	if err := unix.Pipe2(p, unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(p[0])
	unix.Write(p[1], []byte(text))
	unix.Close(p[1])
	n, err := unix.Splice(p[0], nil, fd, nil, 100, 0)
	return int(n), err
}
