package posixsuite

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// outcome is a call's answer in words: the name of its error, or "ok" and
// what it returned.
func outcome(detail string, err error) string {
	if err == nil {
		return strings.TrimSpace("ok " + detail)
	}
	var e unix.Errno
	if !errors.As(err, &e) {
		return err.Error()
	}
	name := unix.ErrnoName(e)
	if name == "" {
		name = fmt.Sprintf("errno %d", int(e))
	}
	return strings.TrimSpace(name + " " + detail)
}

// opened describes an open file by what fstat and fcntl say of it, and closes
// it.
func opened(fd int, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "fstat", err
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return "F_GETFL", err
	}
	return fmt.Sprintf("%s flags %o", described(&st), flags), nil
}

func described(st *unix.Stat_t) string {
	size := st.Size
	return fmt.Sprintf("%o nlink %d owner %d:%d size %d", st.Mode, st.Nlink, st.Uid, st.Gid, size)
}
