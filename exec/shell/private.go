package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// privateSize bounds what a session's private files may hold, in bytes, and
// privateFiles their number.
const (
	privateSize  = "33554432"
	privateFiles = "128"
)

// private is a directory for the files through which the guest and a shell
// talk. It is a tmpfs that is mounted nowhere: who does not have the descriptor
// cannot name it. Where the guest may not make one (there are no namespaces) it
// is a directory with mode 0700 among the temporary ones.
type private struct {
	dir  *os.File
	path string // of a directory that is to be removed; else empty
}

func newPrivate() (*private, error) {
	fd, err := detachedTmpfs()
	if err == nil {
		return &private{dir: os.NewFile(uintptr(fd), "session")}, nil
	}
	name, derr := os.MkdirTemp("", ".session-")
	if derr != nil {
		return nil, errors.Join(err, derr)
	}
	dir, derr := os.OpenFile(name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if derr != nil {
		os.Remove(name)
		return nil, errors.Join(err, derr)
	}
	return &private{dir: dir, path: name}, nil
}

// detachedTmpfs makes a tmpfs and returns its root.
func detachedTmpfs() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen(tmpfs)", err)
	}
	defer unix.Close(fs)
	for _, o := range [][2]string{{"size", privateSize}, {"nr_inodes", privateFiles}, {"mode", "0700"}} {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, fmt.Errorf("fsconfig(tmpfs, %s): %w", o[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, os.NewSyscallError("fsconfig(tmpfs)", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsmount(tmpfs)", err)
	}
	defer unix.Close(mount)
	// The mount's own descriptor is one of O_PATH.
	root, err := unix.Openat(mount, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("open tmpfs", err)
	}
	return root, nil
}

// at runs a call that is relative to the directory.
func (p *private) at(call func(dir int) error) error {
	raw, err := p.dir.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = call(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// open opens a file; it never waits for the other end of a FIFO.
func (p *private) open(name string, flags int) (f *os.File, err error) {
	err = p.at(func(dir int) error {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return &fs.PathError{Op: "open", Path: name, Err: err}
		}
		f = os.NewFile(uintptr(fd), name)
		return nil
	})
	return f, err
}

// write replaces a file's content by a new file.
func (p *private) write(name string, content []byte) error {
	p.remove(name)
	f, err := p.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(content)
	return err
}

// fifo makes a FIFO and opens it.
func (p *private) fifo(name string, flags int) (*os.File, error) {
	p.remove(name)
	err := p.at(func(dir int) error {
		return os.NewSyscallError("mknod", unix.Mknodat(dir, name, unix.S_IFIFO|0o600, 0))
	})
	if err != nil {
		return nil, err
	}
	return p.open(name, flags)
}

func (p *private) remove(name string) {
	_ = p.at(func(dir int) error { return unix.Unlinkat(dir, name, 0) })
}

// close lets the files go with the last descriptor.
func (p *private) close() {
	if p.path != "" {
		names, _ := p.dir.Readdirnames(-1)
		for _, name := range names {
			p.remove(name)
		}
		os.Remove(p.path)
	}
	p.dir.Close()
}

// inShell is a file's name as a shell sees it that holds the directory under a
// descriptor.
func inShell(fd int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(fd) + "/" + name
}
