// Package shell keeps a shell alive between commands: a [Session]. What a
// command does to its working directory, variables, functions, aliases, options
// and traps is there for the next one, and so are its background jobs. It works
// in the guest, like package exec, on which it builds.
//
// # How a command gets into the shell
//
// The shell reads lines from a pipe. For each command the guest puts the text
// into a file and makes two FIFOs for its output, all in a file system that
// exists only as a descriptor (see private.go), and sends two lines: the first
// evaluates the text with its streams redirected, the second reports the status
// under a number of this one command, and writes down the state (lines.go). So a
// text may hold anything: unbalanced quotes, an open here-document or a flood
// of bytes do not reach the lines. A command has ended when the shell says so,
// never at the end of a pipe.
//
// # What is noticed
//
// A shell that ends, one that has read the report's line and said nothing (set
// -n, closed descriptors, a function in the place of a builtin), one that is
// stopped or lost its directory: it is replaced, in the same slot, so that
// background jobs live on, and the state is restored from the last one written
// down. [Run.Wait] says what happened and what was lost.
//
// # What this package must never do
//
// Believe the shell: what it says is bounded and only its own user is hurt by a
// lie. Wait for a shell without a limit but for a command that runs. Put a file
// where a command's tools list it. Signal a number that may have been given to
// another process.
//
// Read next: session.go, run.go, lines.go, snapshot.go, table.go.
package shell
