// Package rundir is the runtime directory of sandboxes: one small directory
// for each, with its locks, its socket and its state.
//
// Everything in it can be deleted when nothing runs. Liveness is never read
// from a file's content: a keeper holds a POSIX record lock on the file
// "alive" for as long as it lives, so the kernel itself says whether it does
// and what its pid is. Creation and removal are serialised by an flock on the
// file "lock".
//
// Lock order: a sandbox's "lock", then nothing else; the record lock is taken
// by the keeper while its maker holds "lock".
//
// Start with [Root] and [Dir].
package rundir
