package provider

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// errnoRow is what one errno means to the caller of an operation.
type errnoRow struct {
	errno        syscall.Errno
	kind         Kind
	reason, next string
}

// What to do next, where several errnos share it.
const (
	nextReadOnly = "write below /mnt/user-data/workspace or /mnt/user-data/outputs"
	nextSpace    = "remove files that are not needed, or ask the operator for more space"
	nextAgain    = "try again; if it stays, the operator can end the sandbox with sandboxfs stop"
	nextLook     = "list the directory to see what is there"
	nextAbsolute = "give an absolute path below /mnt/user-data"
)

// errnos is searched from the top; what is not in it is internal.
var errnos = [...]errnoRow{
	{syscall.ENOENT, NotFound, "no such file or directory", nextLook},
	{syscall.EEXIST, Exists, "it exists already", "choose another name, or remove it first"},
	{syscall.EACCES, Denied, "permission denied", "look at its mode and owner with ls -l"},
	{syscall.EPERM, Denied, "operation not permitted", "this kind of change is not possible in a sandbox"},
	{syscall.EROFS, ReadOnlyFS, "this directory is read-only", nextReadOnly},
	{syscall.ENOTEMPTY, NotEmpty, "the directory is not empty", "remove what is in it first"},
	{syscall.EFBIG, TooLarge, "the file would be too large", "write less, or split it"},
	{syscall.E2BIG, TooLarge, "the arguments are too long", "put them into a file"},
	{syscall.ENOSPC, Quota, "no space is left", nextSpace},
	{syscall.EDQUOT, Quota, "the quota is used up", nextSpace},
	{syscall.ETIMEDOUT, Timeout, "there was no answer in time", nextAgain},
	{syscall.ENOTDIR, Invalid, "a part of the path is not a directory", nextLook},
	{syscall.EISDIR, Invalid, "it is a directory", "give the path of a file"},
	{syscall.EINVAL, Invalid, "the argument is not valid", nextAbsolute},
	{syscall.ENAMETOOLONG, Invalid, "the name is too long", "use names of at most 255 bytes"},
	{syscall.ELOOP, Invalid, "too many symbolic links", "give the path of the file itself"},
	{syscall.EXDEV, Invalid, "it cannot be moved between these directories", "copy it and remove the original"},
	{syscall.EILSEQ, Invalid, "the name holds bytes that are not allowed", "choose another name"},
	{syscall.ENXIO, Invalid, "it is a pipe or a socket, not a file", "give the path of a regular file"},
	{syscall.EOPNOTSUPP, Invalid, "the file system does not do this", "use another way"},
	{syscall.EBUSY, Conflict, "it is in use", "end what uses it, or try again"},
	{syscall.ETXTBSY, Conflict, "the program is running", "end it first, or write a new file and rename it"},
	{syscall.ECONNREFUSED, Unavailable, "the sandbox does not answer", nextAgain},
	{syscall.ECONNRESET, Unavailable, "the sandbox broke off the call", nextAgain},
	{syscall.EPIPE, Unavailable, "the sandbox broke off the call", nextAgain},
	{syscall.ENOTCONN, Unavailable, "the sandbox's files are gone", nextAgain},
	{syscall.ESTALE, Unavailable, "the file is gone from under its handle", nextAgain},
	{syscall.EAGAIN, Unavailable, "a resource is used up for the moment", nextAgain},
	{syscall.EMFILE, Unavailable, "too many files are open", nextAgain},
	{syscall.ENFILE, Unavailable, "too many files are open on this machine", nextAgain},
	{syscall.ENOMEM, Unavailable, "there is not enough memory", nextAgain},
}

// FromErrno makes an Error from what a system call returned, possibly
// wrapped: its kind, and words for the caller that never hold err's own text.
// It also understands io/fs's errors and the end of a context. An err that is
// an [*Error] already is copied and given op and path where it has none. Path
// is virtual, or empty. For a nil err it returns nil, as a *Error: test err
// before, not the result as an error.
func FromErrno(op, path string, err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		e := *known
		if e.Op == "" {
			e.Op = op
		}
		if e.Path == "" {
			e.Path = path
		}
		return &e
	}
	e := &Error{Op: op, Path: path, Err: err}
	e.Kind, e.Reason, e.Next = explain(err)
	return e
}

// explain classifies a cause that is no Error of ours.
func explain(err error) (kind Kind, reason, next string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout, "there was no answer in time", nextAgain
	case errors.Is(err, context.Canceled):
		return Unavailable, "the caller cancelled it", ""
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		for _, row := range errnos {
			if row.errno == errno {
				return row.kind, row.reason, row.next
			}
		}
		return Internal, "the system call failed (" + errno.Error() + ")", nextAgain
	}
	for _, like := range [...]struct {
		target error
		errno  syscall.Errno
	}{
		{fs.ErrNotExist, syscall.ENOENT}, {fs.ErrExist, syscall.EEXIST},
		{fs.ErrPermission, syscall.EACCES}, {fs.ErrInvalid, syscall.EINVAL},
	} {
		if errors.Is(err, like.target) {
			return explain(like.errno)
		}
	}
	return Internal, "an unexpected error; the log has its cause", nextAgain
}
