package jail

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Error is a sandbox that could not be built: the call that failed and what
// to do about it. Unwrap gives the errno, so errors.Is works with it.
type Error struct {
	// Op is the failing call in the words of its manual page.
	Op string
	// Err is the cause.
	Err error
	// Cure says what the person who owns the machine can do; may be empty.
	Cure string
}

// Error returns "start sandbox: op: cause; cure".
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "start sandbox: %s: %v", e.Op, e.Err)
	if e.Cure != "" {
		b.WriteString("; " + e.Cure)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// failed wraps the error of one call and looks for its cure on this machine.
func failed(op string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	err = cause(err)
	return &Error{Op: op, Err: err, Cure: cureFor(op, err, knob)}
}

// cause strips the operation and the path, which may be a host's, from an
// error of the standard library.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var se *os.SyscallError
	if errors.As(err, &se) {
		return se.Err
	}
	return err
}

// knob reads a kernel setting; "" when it does not exist here.
func knob(name string) string {
	b, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
