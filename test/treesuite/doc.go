// Package treesuite is a conformance suite for a directory tree: what POSIX
// programs expect of a directory, errno by errno, and what sandboxfs promises
// beside that (read-only regions, host-side changes, confinement).
//
// It takes a constructor. The same suite runs over a plain directory, where
// it proves itself, and over every way in which a tree can be mounted. It
// must never know how the tree is made: what differs is a fact in [Subject].
//
// Start with [Subject] and [Run]; each group of tests is one file.
package treesuite
