// Package guest is the server inside a sandbox and its client.
//
// The server ([Serve]) runs in the sandbox, as its pid 1, and is the single
// place where commands run and files are touched: a file call and a command
// resolve a path in one namespace, as one user. The client ([NewClient]) runs
// on the host and is a [provider.Sandbox]; every provider uses it and differs
// only in how it starts a guest. Between them is HTTP/1.1 over any stream:
// the API of the AIO sandbox images under /v1, and what that cannot carry
// (binary streams, stdin, argv, signals, typed errors, exact bytes) under
// /v1/sandboxfs (see wire.go). A command is an HTTP Upgrade to the frames of
// package guest/frame; exec.go tells in which order they come.
//
// The server must never say 408, 429 or 5xx once a command has started
// (clients send such a request again), put a host path into an answer, keep
// more of a command's output in memory than the caller's bound, or be stopped
// by anything that a command does to the file tree. The client must never
// believe what a guest answers: everything is bounded, has a deadline, and is
// checked, since a sandbox may have been taken over by what runs in it.
//
// Read next: server.go, then one handler file for each verb; client.go on the
// other side; package guest/file for what a file call does.
package guest
