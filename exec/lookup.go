// This file runs in a slot: paths mean what they mean to the command.

package exec

import (
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkDir answers for the working directory before the fork, since a failed
// fork does not say which of its steps failed.
func checkDir(dir string) *StartError {
	var st unix.Stat_t
	err := unix.Stat(dir, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err == nil {
		err = unix.Access(dir, unix.X_OK)
	}
	if err != nil {
		return &StartError{Reason: BadDir, Path: dir, Err: errnoOf(err)}
	}
	return nil
}

// lookUp finds the program as execvp(3) does, in the command's own PATH and
// relative to its working directory. The first executable file wins; a file
// that is there but not executable is remembered, to answer 126 and not 127.
func lookUp(name, dir string, env []string) (string, *StartError) {
	if strings.Contains(name, "/") {
		if err := executable(absolute(dir, name)); err != 0 {
			return "", lookUpError(name, err)
		}
		return name, nil
	}
	search := DefaultPath
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	answer := syscall.ENOENT
	for _, entry := range strings.Split(search, ":") {
		p := path.Join(absolute(dir, entry), name)
		err := executable(p)
		if err == 0 {
			return p, nil
		}
		if err != syscall.ENOENT && err != syscall.ENOTDIR {
			answer = err
		}
	}
	return "", lookUpError(name, answer)
}

// absolute resolves a path of the command; an empty one is its directory.
func absolute(dir, p string) string {
	if path.IsAbs(p) {
		return p
	}
	return dir + "/" + p
}

// executable reports why a file cannot be executed, 0 when it seems it can.
func executable(p string) syscall.Errno {
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		return errnoOf(err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return syscall.EISDIR
	}
	if err := unix.Access(p, unix.X_OK); err != nil {
		return errnoOf(err)
	}
	return 0
}

func lookUpError(name string, err syscall.Errno) *StartError {
	if err == syscall.ENOENT || err == syscall.ENOTDIR {
		return &StartError{Reason: NotFound, Path: name, Err: err}
	}
	return &StartError{Reason: NotExecutable, Path: name, Err: err}
}

// execError explains an errno of fork and execve for a program that was there a
// moment ago.
func execError(name string, err error) *StartError {
	e := &StartError{Path: name, Err: errnoOf(err)}
	switch e.Err {
	case syscall.ENOENT:
		e.Reason, e.Detail = NotExecutable, "its interpreter or loader is missing"
	case syscall.ENOEXEC:
		e.Reason, e.Detail = NotExecutable, "no program and no script with #! in its first line"
	case syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ETXTBSY,
		syscall.ELIBBAD, syscall.EINVAL, syscall.EIO, syscall.ENAMETOOLONG:
		e.Reason = NotExecutable
	case syscall.E2BIG:
		e.Reason = TooLong
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		e.Reason = NoResources
	default:
		e.Reason, e.Detail = Failed, err.Error()
	}
	return e
}

// errnoOf unwraps a plain errno; EIO stands for anything else.
func errnoOf(err error) syscall.Errno {
	if e, ok := err.(syscall.Errno); ok {
		return e
	}
	return syscall.EIO
}
