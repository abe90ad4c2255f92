package file

import (
	"errors"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// haveOpenat2 reports whether openat2(2) can be had: kernels before 5.6, some
// container runtimes' system call filters and gVisor do not let it through.
var haveOpenat2 = sync.OnceValue(func() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
})

// walkOpen does in steps, with a descriptor for each, what openat2 does at
// once: it knows RESOLVE_NO_SYMLINKS, and for RESOLVE_NO_MAGICLINKS it refuses
// every link that lies on procfs.
func walkOpen(dir int, p string, flags int, mode uint32, resolve uint64) (int, error) {
	if p == "" {
		return -1, unix.ENOENT
	}
	w := &pathWalk{cur: -1, noLinks: resolve&unix.RESOLVE_NO_SYMLINKS != 0, directory: flags&unix.O_DIRECTORY != 0}
	defer w.close()
	if err := w.enter(dir, p); err != nil {
		return -1, err
	}
	for {
		name, rest, more := strings.Cut(w.rest, "/")
		if name == "" {
			name = "."
		}
		// The last component's link is followed too, unless that is not
		// wanted; one that must be a directory is not itself meant.
		follows := more || w.directory || flags&unix.O_NOFOLLOW == 0
		isLink, err := w.isLink(name)
		switch {
		case err != nil && (more || flags&unix.O_CREAT == 0 || !errors.Is(err, unix.ENOENT)):
			return -1, err
		case isLink && follows:
			if err := w.follow(name, rest); err != nil {
				return -1, err
			}
		case more:
			if err := w.step(name); err != nil {
				return -1, err
			}
			w.rest = strings.TrimLeft(rest, "/")
		default:
			how := flags | unix.O_NOFOLLOW | unix.O_CLOEXEC
			if w.directory {
				how |= unix.O_DIRECTORY
			}
			return unix.Openat(w.cur, name, how, mode)
		}
	}
}

// pathWalk is a path half walked.
type pathWalk struct {
	cur       int    // the directory reached, an O_PATH descriptor of ours
	rest      string // what is still to be walked, without slashes at its ends
	directory bool   // the path must lead to a directory
	noLinks   bool
	links     int
}

func (w *pathWalk) close() {
	if w.cur >= 0 {
		unix.Close(w.cur)
	}
}

// enter goes to where a path begins.
func (w *pathWalk) enter(dir int, p string) error {
	from := "."
	if path.IsAbs(p) {
		dir, from = unix.AT_FDCWD, "/"
	}
	fd, err := unix.Openat(dir, from, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	w.close()
	w.cur = fd
	w.directory = w.directory || strings.HasSuffix(p, "/")
	w.rest = strings.Trim(p, "/")
	return nil
}

func (w *pathWalk) isLink(name string) (bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(w.cur, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK, err
}

// step goes into a directory.
func (w *pathWalk) step(name string) error {
	fd, err := unix.Openat(w.cur, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.Close(w.cur)
	w.cur = fd
	return nil
}

// follow puts a link's text in the place of its name.
func (w *pathWalk) follow(name, rest string) error {
	if w.links++; w.links > maxLinks || w.noLinks {
		return unix.ELOOP
	}
	if proc, err := isProc(w.cur); err != nil || proc {
		return errors.Join(err, unix.ELOOP)
	}
	text, err := readlinkat(w.cur, name)
	if err != nil {
		return err
	}
	if rest != "" {
		// The link must be a directory, and what follows is the path's own.
		must := w.directory
		if err := w.enter(w.cur, text+"/"+rest); err != nil {
			return err
		}
		w.directory = must
		return nil
	}
	return w.enter(w.cur, text)
}
