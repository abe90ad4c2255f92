package local

import (
	"errors"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// hostError is the error of a host-side file operation, without its host
// path.
func hostError(op, thread, path string, err error) error {
	e := provider.FromErrno(op, path, err)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		e.Reason, e.Next = "a symlink, or something else that is no directory, is on the way", "the operator's writes follow no symlink; name the file itself"
	}
	e.Thread = thread
	return e
}
