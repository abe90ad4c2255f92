// Package readonlysuite makes the 32 calls by which a read-only directory can
// be told from a writable one, and says what each must answer.
//
// It knows three ways in which a read-only region is shown ([Form]): the
// exactness of some answers is the kernel's, which knows of a read-only mount
// and not of what a server refuses. The calls are made by whatever process
// sees the directory, such as one in a sandbox; so they need no testing
// package, and their outcomes can be passed on as JSON.
//
// It must never change anything but the directories that it is given.
//
// Start with [Prepare], [Try] and [Check]; calls.go has the calls.
package readonlysuite
