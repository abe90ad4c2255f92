// Package hosttree is the operator's way to files on the host: a thread's
// directories as the one tree that they are in the sandbox, or a plain
// directory, walked and written by descriptor.
//
// Whatever an agent puts into its directories, and whatever it swaps while the
// host reads or writes there, it must never make the host reach a file outside
// of them: every step is one component relative to an open directory, and no
// symlink is followed. A special file is never opened.
//
// Start with [Dir]; [Walk] reads a tree and [Sink] writes one. Read next:
// package provider's Copier, which is made of these.
package hosttree
