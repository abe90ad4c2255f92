package exec

import (
	"fmt"
	"syscall"
)

// Reason says why a command was not started.
type Reason int

const (
	// Failed is a failure of ours, not of the command: no slot could be made,
	// or it was lost.
	Failed Reason = iota
	// NotFound: there is no such program (exit code 127).
	NotFound
	// NotExecutable: the file is there but cannot be executed (126).
	NotExecutable
	// BadDir: the working directory is missing or cannot be entered.
	BadDir
	// TooLong: arguments and environment exceed the kernel's limits (126, as
	// the shells answer).
	TooLong
	// NoResources: the sandbox's limit of processes or memory is reached.
	NoResources
	// Invalid: the request itself is wrong.
	Invalid
)

// StartError tells why a command was not started; nothing of it ran.
type StartError struct {
	Reason Reason
	// Path is the program or directory meant, as the command would name it.
	Path string
	// Detail adds what an errno cannot say.
	Detail string
	// Err is the kernel's answer, 0 where there is none.
	Err syscall.Errno
}

// Error names the program or directory and what to do next.
func (e *StartError) Error() string {
	cause := e.Detail
	if e.Err != 0 {
		if cause != "" {
			cause += ": "
		}
		cause += e.Err.Error()
	}
	switch e.Reason {
	case NotFound:
		return fmt.Sprintf("start %s: not found; give a path or a program in PATH", e.Path)
	case NotExecutable:
		return fmt.Sprintf("start %s: cannot be executed (%s)", e.Path, cause)
	case BadDir:
		return fmt.Sprintf("enter working directory %s: %s; name an existing directory", e.Path, cause)
	case TooLong:
		return fmt.Sprintf("start %s: arguments and environment are too long (%s); pass data by a file or stdin", e.Path, cause)
	case NoResources:
		return fmt.Sprintf("start %s: %s; the sandbox's limit of processes or memory is reached, end other commands first", e.Path, cause)
	case Invalid:
		if e.Path != "" {
			return fmt.Sprintf("start command: %s: %s", e.Path, cause)
		}
		return "start command: " + cause
	default:
		return "start command: " + cause
	}
}

// Unwrap returns the errno, for errors.Is.
func (e *StartError) Unwrap() error {
	if e.Err == 0 {
		return nil
	}
	return e.Err
}

// ExitCode is the exit status that a shell, env(1) or timeout(1) would answer:
// 127 not found, 126 not executable, 125 our own failure or bad usage.
func (e *StartError) ExitCode() int {
	switch e.Reason {
	case NotFound:
		return 127
	case NotExecutable, TooLong:
		return 126
	default:
		return 125
	}
}
