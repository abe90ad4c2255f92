// Package local is the provider whose sandboxes are namespaces on this
// machine, each with its own FUSE tree and its own keeper process.
//
// Nothing resident is needed: the first Acquire starts what a sandbox needs
// and idleness ends it. Any process of the same host user finds the same
// sandbox, by the runtime directory (package internal/rundir).
//
// It never serves a tree itself: a process that touched a path below its own
// mount would wait for itself.
//
// A program that embeds it needs the program sandboxfsd installed: beside the
// calling executable, in ../libexec of it, in PATH, or where $SANDBOXFSD says.
//
// Import it for its side effect of registering the provider "local", or call
// [New]. Read next: package internal/keeper for the host side of a sandbox,
// exec/jail for its namespaces.
package local
