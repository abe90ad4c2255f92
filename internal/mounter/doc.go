// Package mounter shows a thread's tree at a directory of the host: the
// process `sandboxfsd mount`, and how it is started, found and ended.
//
// Each mount has a server process of its own, which opens the thread's
// directories, mounts, and answers the kernel until it is unmounted. It
// outlives whoever asked for it. Root mounts by the kernel's own calls; an
// ordinary user by fusermount3, the set-user-ID helper of the package fuse3.
//
// A mount has a directory in the runtime directory (package rundir): the lock
// under which it is made and ended, the record lock that says whether its
// server lives, its log, and a [Record]. The record is written before the mount
// is made, so whatever moment the server is killed at, [Collect], [Mount] and
// [Unmount] find the dead mount and detach it. A mount is told from others by
// its device number, never by its path, which changes with the directories
// above it.
//
// What it must never do: open or examine a path below a mount from the process
// that serves it, since the answer would have to come from itself; examine one
// from any process without a deadline; unmount what is not ours.
//
// A caller's half is [Mount], [List], [Unmount] and [Collect]; the process's
// is [Main]. A program that gives a mount to a container makes it below the
// runtime directory with [Spec.Audience] "container"; once the container has its
// own copy, [Unmount] with [Lazy] leaves the server to end with that copy.
package mounter
