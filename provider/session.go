package provider

import "context"

// Sessioner is a sandbox that keeps sessions: shells that hold their working
// directory, variables and functions between commands. A command names its
// session in [Command.Session]; the first one makes it.
type Sessioner interface {
	// Sessions lists the live sessions by name. It starts no sandbox.
	Sessions(ctx context.Context) ([]SessionInfo, error)
	// CloseSession ends a session with everything that runs in it. Closing
	// one that does not live is no error.
	CloseSession(ctx context.Context, name string) error
}

// SessionInfo describes a live session.
type SessionInfo struct {
	Name string `json:"session"`
	// State is "ready", or "busy" while a command runs in it.
	State string `json:"state"`
	// Dir is the working directory of its shell.
	Dir string `json:"dir"`
	// Created is in RFC 3339 with a zone.
	Created string `json:"created"`
	// IdleSeconds is the time since its last command ended; 0 while busy.
	IdleSeconds float64 `json:"idle_seconds"`
	// Commands counts those that ran in it, the one that runs now included.
	Commands int `json:"commands"`
	// Jobs is the number of its live background jobs.
	Jobs int `json:"jobs"`
}

// SessionChange tells that a command ended in another shell than it began in,
// or that its session lost something: [Result.Session].
type SessionChange struct {
	// Reason says why, in words: "the shell exited with status 3".
	Reason string `json:"reason"`
	// Lost names what the new shell does not have, in words: "2 background
	// jobs", "variables that were not exported".
	Lost []string `json:"lost,omitempty"`
}

// JobKeeper is a sandbox whose sessions' background jobs can be listed and
// stopped.
type JobKeeper interface {
	// Jobs lists the live background jobs, oldest first. It starts no
	// sandbox.
	Jobs(ctx context.Context) ([]Job, error)
	// StopJob ends a job with what it started: SIGTERM, and SIGKILL 2 seconds
	// later. Kind: not found.
	StopJob(ctx context.Context, id string) error
}

// Job is a live background job of a session: a process that a command started
// and did not wait for, with its descendants.
type Job struct {
	// ID is unique in the sandbox: "SESSION:PID".
	ID      string `json:"job"`
	Session string `json:"session"`
	// PID is the process's number as the session sees it.
	PID int `json:"pid"`
	// Command is its command line, cut after 200 bytes.
	Command string `json:"command"`
	// Started is in RFC 3339 with a zone.
	Started string `json:"started"`
	// Processes counts it and its descendants.
	Processes int `json:"processes"`
}
