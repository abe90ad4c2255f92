// Package hostpath does the host-side file work of the operator and of the
// providers: it makes, opens and writes files below a directory that is held
// open, one component at a time, never following a symlink.
//
// A directory that an agent can write to may be changed by the agent while the
// host works in it, so a path below it is never joined and opened in one call:
// whatever is planted there, a symlink to /etc or a directory swapped for one,
// the walk answers an error and stays inside.
//
// Start with [Open] for the trusted directory, then [Walk] and [WriteFile].
package hostpath
