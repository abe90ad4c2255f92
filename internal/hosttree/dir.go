package hosttree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/mapping"
	"golang.org/x/sys/unix"
)

const (
	dirFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	nameFlags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// Dir is an open directory. Its errors wrap the errno of the system call that
// failed. [Dir.Close] closes it; a Dir opened from it lives on.
type Dir struct {
	// f is nil for a directory that only the table has, as /mnt.
	f *os.File
	// thread is nil for a plain directory.
	thread   *thread
	virtual  string
	readOnly bool
	// ledger counts what is made here; nil counts nothing.
	ledger *quota.Ledger
}

// thread is what all directories of one thread share.
type thread struct {
	table *mapping.Table
	roots map[string]*os.File
	// ledger counts in the regions that are counted.
	ledger  *quota.Ledger
	counted []string
}

// Plain makes a Dir of an open directory, which it takes over.
func Plain(f *os.File) *Dir { return &Dir{f: f} }

// Thread returns the virtual root of a thread in the operator's view. roots are
// its regions' open directories by virtual path; a region without one does not
// exist. ledger, which may be nil, counts what is written. They stay the
// caller's, who closes them last.
func Thread(table *mapping.Table, roots map[string]*os.File, ledger *quota.Ledger) *Dir {
	return &Dir{thread: &thread{table: table, roots: roots, ledger: ledger, counted: quota.Regions(table)}, virtual: "/"}
}

// Close closes the directory.
func (d *Dir) Close() error {
	if d.f == nil {
		return nil
	}
	return d.f.Close()
}

// Same reports whether both are one directory of the host.
func (d *Dir) Same(st *unix.Stat_t) bool {
	var own unix.Stat_t
	return d.f != nil && unix.Fstat(int(d.f.Fd()), &own) == nil && own.Dev == st.Dev && own.Ino == st.Ino
}

// below returns the virtual path of a child, and whether the table rather than
// the directory decides what it is.
func (d *Dir) below(name string) (virtual string, isRegion, isAbove bool) {
	if d.thread == nil {
		return "", false, false
	}
	virtual = path.Join(d.virtual, name)
	region, rest, ok := d.thread.table.Lookup(virtual)
	isRegion = ok && rest == "" && region.Virtual == virtual
	return virtual, isRegion, !isRegion && len(d.thread.table.Children(virtual)) > 0
}

// Open opens a directory in d. A symlink or anything else is ENOTDIR.
func (d *Dir) Open(name string) (*Dir, error) {
	if err := hostpath.CheckName(name); err != nil {
		return nil, err
	}
	virtual, isRegion, isAbove := d.below(name)
	if isRegion {
		root := d.thread.roots[virtual]
		if root == nil {
			return nil, failed("open", name, unix.ENOENT)
		}
		f, err := openAt(root, ".", dirFlags)
		if err != nil {
			return nil, err
		}
		region, _, _ := d.thread.table.Lookup(virtual)
		child := &Dir{f: f, thread: d.thread, virtual: virtual, readOnly: region.Access(mapping.OperatorView) == mapping.ReadOnly}
		if slices.Contains(d.thread.counted, virtual) {
			child.ledger = d.thread.ledger
		}
		return child, nil
	}
	child := &Dir{thread: d.thread, virtual: virtual, readOnly: d.readOnly, ledger: d.ledger}
	err := failed("open", name, unix.ENOENT)
	if d.f != nil {
		child.f, err = openAt(d.f, name, dirFlags)
	}
	if isAbove && errors.Is(err, unix.ENOENT) {
		return child, nil
	}
	if err != nil {
		return nil, err
	}
	return child, nil
}

// Stat describes what is called name in d, itself and not what a symlink points
// to.
func (d *Dir) Stat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := hostpath.CheckName(name); err != nil {
		return st, err
	}
	virtual, isRegion, isAbove := d.below(name)
	if isRegion {
		if root := d.thread.roots[virtual]; root != nil {
			return st, failed("stat", name, unix.Fstat(int(root.Fd()), &st))
		}
		return st, failed("stat", name, unix.ENOENT)
	}
	err := error(unix.ENOENT)
	if d.f != nil {
		err = unix.Fstatat(int(d.f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if isAbove && errors.Is(err, unix.ENOENT) {
		return unix.Stat_t{Mode: unix.S_IFDIR | 0o755}, nil
	}
	return st, failed("stat", name, err)
}

// namesAtOnce is how many names are held of a directory that is read.
const namesAtOnce = 1024

// EachName calls do with the names in d, in no order, until it returns an
// error. It may be called once.
func (d *Dir) EachName(do func(name string) error) error {
	var own []string
	if d.thread != nil {
		own = d.thread.table.Children(d.virtual)
	}
	for _, name := range own {
		if _, err := d.Stat(name); err != nil {
			continue // a region that does not exist
		}
		if err := do(name); err != nil {
			return err
		}
	}
	for d.f != nil {
		names, err := d.f.Readdirnames(namesAtOnce)
		for _, name := range names {
			if slices.Contains(own, name) {
				continue
			}
			if err := do(name); err != nil {
				return err
			}
		}
		if len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return failed("read", ".", errno(err))
			}
			return nil
		}
	}
	return nil
}

// OpenFile opens a regular file in d for reading. Anything else, a symlink
// too, is not opened: EINVAL.
func (d *Dir) OpenFile(name string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	if err := d.real("open", name); err != nil {
		return nil, st, err
	}
	// What it is must be known before it is opened: to open a device or a
	// FIFO does something.
	f, err := openAt(d.f, name, nameFlags)
	if err != nil {
		return nil, st, err
	}
	defer f.Close()
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, st, failed("stat", name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, failed("open", name, unix.EINVAL)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, st, failed("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), st, nil
}

// Readlink returns the text of a symlink in d.
func (d *Dir) Readlink(name string) (string, error) {
	if err := d.real("read the symlink", name); err != nil {
		return "", err
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(d.f.Fd()), name, buf)
	if err != nil {
		return "", failed("read the symlink", name, err)
	}
	return string(buf[:n]), nil
}

// real refuses a name that is no plain component, and any name where the
// directory exists in the table alone.
func (d *Dir) real(op, name string) error {
	if err := hostpath.CheckName(name); err != nil {
		return err
	}
	if d.f == nil {
		return failed(op, name, unix.ENOENT)
	}
	return nil
}

func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flags, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, failed("open", name, err)
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// failed wraps an errno; nil stays nil.
func failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: name, Err: err}
}

// errno takes the path, which can be the host's, off an error.
func errno(err error) error {
	var no unix.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}
