package local

import "github.com/sandboxfs/sandboxfs/provider"

// hostError is the error of a host-side file operation, without its host
// path.
func hostError(op, thread, path string, err error) error {
	e := provider.FromErrno(op, path, err)
	e.Thread = thread
	return e
}
