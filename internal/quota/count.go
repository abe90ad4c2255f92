package quota

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// usage is a number of bytes and of files.
type usage struct{ bytes, files int64 }

func (u *usage) add(st *unix.Statx_t) {
	u.bytes += chargeOf(st)
	if u.bytes < 0 {
		u.bytes = roundUp(1<<63 - 1)
	}
	u.files++
}

// count finds out what the thread holds: what lies in its directories, and
// what has no name any more but is open in a holder.
func (l *Ledger) count() usage {
	w := walker{seen: map[inode]struct{}{}}
	for _, r := range l.roots {
		w.walk(r)
	}
	l.addOrphans(&w)
	return w.usage
}

// maxWalkFDs bounds the directories that a walk keeps open at once.
const maxWalkFDs = 64

// walker counts directories, each inode once. It reads one directory at a
// time and holds no more than maxWalkFDs descriptors, however deep they go.
type walker struct {
	usage
	seen  map[inode]struct{} // of those with several names
	stack []*level
}

// level is a directory on the way down.
type level struct {
	fd      int // -1: closed for want of descriptors
	id      inode
	subdirs []string
	restore func() // puts back rights that were taken away
}

// walk counts what is below root, which itself does not count. What cannot be
// read is left out, and what goes away meanwhile.
func (w *walker) walk(root *os.File) {
	fd, e := openDir(int(root.Fd()), ".")
	if e != 0 {
		return
	}
	w.enter(fd, nil)
	for len(w.stack) > 0 {
		top := w.stack[len(w.stack)-1]
		if top.fd < 0 {
			w.leave()
			continue
		}
		if len(top.subdirs) == 0 {
			w.leave()
			continue
		}
		name := top.subdirs[len(top.subdirs)-1]
		top.subdirs = top.subdirs[:len(top.subdirs)-1]
		if fd, restore, e := openAnyDir(top.fd, name); e == 0 {
			w.enter(fd, restore)
		}
	}
}

// enter reads a directory and puts it on the stack.
func (w *walker) enter(fd int, restore func()) {
	lv := &level{fd: fd, restore: restore}
	var st unix.Statx_t
	if statFD(fd, &st) == 0 {
		lv.id = inodeOf(&st)
	}
	w.stack = append(w.stack, lv)
	if above := len(w.stack) - 1 - maxWalkFDs; above >= 0 {
		w.stack[above].close()
	}
	readNames(fd, func(name string) {
		var st unix.Statx_t
		if statName(fd, name, &st) != 0 {
			return
		}
		if st.Nlink > 1 && !isDir(&st) {
			id := inodeOf(&st)
			if _, ok := w.seen[id]; ok {
				return
			}
			w.seen[id] = struct{}{}
		}
		w.add(&st)
		if isDir(&st) {
			lv.subdirs = append(lv.subdirs, name)
		}
	})
}

// leave takes the uppermost directory off the stack. The one below it is
// opened again from it, if it was closed; if it is not found any more, what
// is left of it is left out.
func (w *walker) leave() {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	if n := len(w.stack); n > 0 && w.stack[n-1].fd < 0 && top.fd >= 0 {
		below := w.stack[n-1]
		if fd, e := openDir(top.fd, ".."); e == 0 {
			var st unix.Statx_t
			if statFD(fd, &st) == 0 && inodeOf(&st) == below.id {
				below.fd = fd
			} else {
				unix.Close(fd)
			}
		}
	}
	top.close()
	if top.restore != nil {
		top.restore()
	}
}

func (lv *level) close() {
	if lv.fd >= 0 {
		unix.Close(lv.fd)
		lv.fd = -1
	}
}

func openDir(dir int, name string) (int, unix.Errno) {
	var fd int
	e := retry(func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOATIME, 0)
		return err
	})
	if e == unix.EPERM { // O_NOATIME of somebody else's
		e = retry(func() (err error) {
			fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			return err
		})
	}
	return fd, e
}

// openAnyDir opens a directory. What an agent has taken its owner's rights
// away from, with chmod, counts too: they are put back for the time it takes.
func openAnyDir(dir int, name string) (fd int, restore func(), e unix.Errno) {
	fd, e = openDir(dir, name)
	if e == 0 {
		var st unix.Statx_t
		if os.Geteuid() == 0 || statFD(fd, &st) != 0 || st.Mode&0o500 == 0o500 || int(st.Uid) != os.Geteuid() {
			return fd, nil, 0
		}
		unix.Close(fd) // readable but not searchable
	} else if e != unix.EACCES {
		return -1, nil, e
	}
	var path int
	e = retry(func() (err error) {
		path, err = unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if e != 0 {
		return -1, nil, e
	}
	var st unix.Statx_t
	if e := statFD(path, &st); e != 0 || int(st.Uid) != os.Geteuid() {
		unix.Close(path)
		return -1, nil, unix.EACCES
	}
	link := fmt.Sprintf("/proc/self/fd/%d", path) // an O_PATH descriptor has no fchmod
	restore = func() {
		unix.Chmod(link, uint32(st.Mode)&0o7777)
		unix.Close(path)
	}
	if e := retry(func() error { return unix.Chmod(link, uint32(st.Mode)&0o7777|0o500) }); e != 0 {
		restore()
		return -1, nil, e
	}
	if fd, e = openDir(path, "."); e != 0 {
		restore()
		return -1, nil, e
	}
	return fd, restore, 0
}

// readNames calls f with each name in a directory.
func readNames(fd int, f func(name string)) {
	buf := make([]byte, 32<<10)
	names := make([]string, 0, 256)
	for {
		var n int
		e := retry(func() (err error) {
			n, err = unix.ReadDirent(fd, buf)
			return err
		})
		if e != 0 || n <= 0 {
			return
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			f(name)
		}
	}
}
