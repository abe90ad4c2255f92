package file

import (
	"errors"
	"syscall"

	"github.com/sandboxfs/sandboxfs/provider"
)

// fail makes the error of a file call from what a system call returned; an
// error that is one already is left alone.
func fail(op, path string, err error) error {
	e := provider.FromErrno(op, clip(path), err)
	switch {
	case errors.Is(err, syscall.ELOOP):
		// The kernel says the same for the links of procfs, which
		// RESOLVE_NO_MAGICLINKS refuses.
		e.Reason = "too many levels of symbolic links, or a link through /proc"
		e.Next = "give the path of the file itself, or use a command for what lies in /proc"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Reason += "; the file is as it was before"
	}
	return e
}

// refuse makes the error of a call that this package itself turns down.
func refuse(kind provider.Kind, op, path, reason, next string) error {
	return &provider.Error{Kind: kind, Op: op, Path: path, Reason: reason, Next: next}
}
