// Package detached starts a process of sandboxfsd that outlives whoever
// started it, and waits until it is ready: a sandbox's keeper, the server of a
// mount.
//
// The process gets its specification as JSON on standard input, answers on a
// pipe whether it is ready or what went wrong, and holds its maker's lock
// until then, so that nobody makes the same thing twice even where the maker
// is killed. It is in a session of its own, has no terminal, and writes its
// log to a file.
//
// It must never pass on a descriptor of the caller's: a pipe among them would
// not end for its reader.
//
// [Start] is the caller's half, [Begin] the process's.
package detached
