package file

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// maxWalk bounds one search; what was found until then is the answer, marked
// as truncated.
const maxWalk = 60 * time.Second

// errStop ends a walk early, without an error.
var errStop = errors.New("enough")

// walker visits what lies below a directory in the order of names, a
// directory before what is in it. It follows no symbolic link, does not enter
// procfs, and opens each directory anew below the root's descriptor: the
// depth of a tree costs no descriptors, and a directory that becomes a link
// meanwhile is not entered.
type walker struct {
	root int // an open directory
	// enter says whether to look into a directory.
	enter func(rel string, name string) bool
	// visit gets each object; dir is its open directory. It returns errStop
	// to end the walk.
	visit func(dir int, rel string, e dirent) error
	// incomplete is set when a part of the tree was not seen.
	incomplete bool
	deadline   time.Time
}

// openRoot opens the directory from which a search starts, through symbolic
// links.
func openRoot(op, p string) (int, error) {
	if err := CheckPath(op, p); err != nil {
		return -1, err
	}
	fd, err := openat(unix.AT_FDCWD, p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOTDIR) {
		// The path itself, or something on the way to it.
		place, _, err := openPlace(op, p)
		if err != nil {
			return -1, err
		}
		unix.Close(place)
		return -1, refuse(provider.Invalid, op, p, "not a directory", "name a directory")
	}
	if err != nil {
		return -1, fail(op, p, err)
	}
	if err := refuseProc(op, p, fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// walk visits everything below the root. Directories that cannot be opened
// are passed over, as find(1) does, and make the walk incomplete.
func (w *walker) walk(ctx context.Context) error {
	w.deadline = time.Now().Add(maxWalk)
	err := w.walkDir(ctx, w.root, "")
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (w *walker) walkDir(ctx context.Context, dir int, rel string) error {
	r := newDirReader(dir)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(w.deadline) {
			w.incomplete = true
			return errStop
		}
		entries, err := r.next()
		if err != nil {
			if rel == "" {
				return err
			}
			w.incomplete = true
			return nil
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := w.one(ctx, dir, path.Join(rel, e.name), e); err != nil {
				return err
			}
		}
	}
}

func (w *walker) one(ctx context.Context, dir int, rel string, e dirent) error {
	if e.kind == unix.DT_UNKNOWN {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, e.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil // gone already
		}
		e.kind = byte(st.Mode & unix.S_IFMT >> 12)
	}
	if err := w.visit(dir, rel, e); err != nil {
		return err
	}
	if e.kind != unix.DT_DIR || !w.enter(rel, e.name) {
		return nil
	}
	fd, err := openBelow(w.root, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		// Removed meanwhile, or a link now: nothing to see. Not allowed, or
		// deeper than a path can be: something is missing.
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOTDIR) {
			w.incomplete = true
		}
		return nil
	}
	defer unix.Close(fd)
	if w.crossesIntoProc(dir, fd) {
		return nil
	}
	return w.walkDir(ctx, fd, rel)
}

// crossesIntoProc looks at the file system only where a mount begins, since
// statfs is dear on some.
func (w *walker) crossesIntoProc(parent, dir int) bool {
	var a, b unix.Stat_t
	if unix.Fstat(parent, &a) != nil || unix.Fstat(dir, &b) != nil {
		return true
	}
	if a.Dev == b.Dev {
		return false
	}
	proc, err := isProc(dir)
	return proc || err != nil
}
