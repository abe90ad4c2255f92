package provider

import (
	"io"
	"time"
)

// DefaultTimeout ends a command that names no timeout of its own.
const DefaultTimeout = 600 * time.Second

// DefaultMaxOutput bounds each captured stream, in bytes, where a command
// names no limit.
const DefaultMaxOutput = 1 << 20

// Command is one run: everything about it travels in this value.
type Command struct {
	// Argv is the program and its arguments. Exactly one of Argv and Script
	// is set.
	Argv []string
	// Script is run by bash without start-up files (sh where there is no
	// bash).
	Script string
	// Dir is the working directory; empty means /mnt/user-data/workspace.
	Dir string
	// Env is added to the sandbox's own allow-list of variables. Keys are
	// POSIX names.
	Env map[string]string
	// Stdin feeds the command; nil means /dev/null.
	Stdin io.Reader
	// Stdout and Stderr receive the streams as they come, for
	// [Starter.Start] alone; nil streams are captured into the Result. With
	// a TTY there is one stream, Stdout.
	Stdout, Stderr io.Writer
	// TTY gives the command a terminal of its own; nil means none.
	TTY *TTY
	// Timeout ends the command: SIGTERM to its group, 2 seconds later
	// SIGKILL to its whole tree. 0 means DefaultTimeout; negative, none.
	Timeout time.Duration
	// MaxOutput bounds each stream, in bytes, keeping its head and tail. 0
	// means DefaultMaxOutput for captured streams and no bound for live
	// ones; negative, no bound.
	MaxOutput int64
	// Session names a shell that keeps its state between commands; empty
	// means a one-shot. With a session, Script is set. A sandbox that keeps no
	// sessions answers with the kind invalid.
	Session string
}

// TTY is a terminal for a command.
type TTY struct {
	// Term is the value of $TERM; empty means "xterm-256color".
	Term string
	// Rows and Cols are the first window size; 0 means 24 by 80.
	Rows, Cols uint16
}

// Result is how a command ended.
type Result struct {
	// ExitCode is the exit status, 128+N after signal N, 124 after the
	// timeout, 126 and 127 for a program that cannot be executed or found.
	ExitCode int
	// Signal is the signal that ended the main process, else 0.
	Signal int
	// TimedOut reports that the timeout ended the command.
	TimedOut bool
	// LeftRunning counts the processes that the command left behind and
	// that were ended with it.
	LeftRunning int
	// Duration is from the start of the main process to its end.
	Duration time.Duration
	// Session tells what happened to the session's shell; nil for a one-shot,
	// and where the shell lives on with all that it had.
	Session *SessionChange
	// Stdout and Stderr are the captured streams. With a TTY all is in
	// Stdout.
	Stdout, Stderr Output
}

// Exit codes that are ours and not the command's, as timeout(1), env(1) and
// the shells have them.
const (
	ExitTimeout       = 124
	ExitFailure       = 125
	ExitNotExecutable = 126
	ExitNotFound      = 127
	ExitSignalBase    = 128
)

// Output is one captured stream: its head and its tail, cut at rune borders.
type Output struct {
	// Head is all of the stream where nothing was left out.
	Head []byte
	// Tail is the end of the stream where something was left out.
	Tail []byte
	// Omitted is the number of bytes left out between the two.
	Omitted int64
}

// Info describes a sandbox, for `ps` and tests.
type Info struct {
	ID       string `json:"id"`
	Thread   string `json:"thread"`
	User     string `json:"user"`
	Provider string `json:"provider"`
	// State is "running", "idle" (no command and no job runs), "starting", "dead", or
	// "unknown" where it does not answer.
	State string `json:"state"`
	// Created is in RFC 3339 with a zone.
	Created string `json:"created,omitempty"`
	// IdleSeconds is the time since the last command ended.
	IdleSeconds float64 `json:"idle_seconds"`
	// Commands is the number of commands running now.
	Commands int `json:"commands"`
	// Sessions and Jobs count the live sessions and their background jobs. A
	// sandbox with a job is not idle.
	Sessions int `json:"sessions"`
	Jobs     int `json:"jobs"`
	// Isolation says which mechanism stands behind each promise, by name:
	// "tier", "net", "tree_end", "limits", "seccomp", "landlock",
	// "passthrough" and so on.
	Isolation map[string]string `json:"isolation,omitempty"`
}
