package provider

import (
	"errors"
	"fmt"
	"strings"
)

// Kind classifies an error. The set is small and stable; [Kind.Errno],
// [Kind.HTTPStatus], [Kind.ExitCode] and [Kind.MCPCode] say what each outside
// interface calls it.
type Kind string

// The kinds. Each is an error of its own, so that errors.Is(err,
// provider.NotFound) works through any wrapping.
const (
	Invalid     Kind = "invalid"
	NotFound    Kind = "not found"
	Exists      Kind = "exists"
	Denied      Kind = "denied"
	ReadOnlyFS  Kind = "read-only"
	NotEmpty    Kind = "not empty"
	TooLarge    Kind = "too large"
	Quota       Kind = "quota"
	Timeout     Kind = "timeout"
	Unavailable Kind = "unavailable"
	Conflict    Kind = "conflict"
	Internal    Kind = "internal"
)

// Error makes a Kind a target for errors.Is.
func (k Kind) Error() string { return string(k) }

// Error is the one error type of the project. Its text names the operation,
// the thread and the virtual path, says what to do next, and never shows a
// host path.
type Error struct {
	// Kind classifies the error.
	Kind Kind
	// Op is the operation, such as "write file" or "acquire".
	Op string
	// Thread is the key's text, or empty.
	Thread string
	// Path is the virtual path, or empty.
	Path string
	// Reason says what is wrong, in words for a person or a model.
	Reason string
	// Next says what to do about it; may be empty.
	Next string
	// Err is the cause, for errors.Is and a log; its text is not part of
	// this error's text, since it can hold a host path.
	Err error
}

// Error returns "op thread path: reason; next".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Thread != "" {
		fmt.Fprintf(&b, " [%s]", e.Thread)
	}
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	reason := e.Reason
	if reason == "" {
		reason = string(e.Kind)
	}
	b.WriteString(": " + reason)
	if e.Next != "" {
		b.WriteString("; " + e.Next)
	}
	return b.String()
}

// Is reports whether the target is the error's kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error, Internal for one that has none, and ""
// for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var k Kind
	if errors.As(err, &k) {
		return k
	}
	return Internal
}
