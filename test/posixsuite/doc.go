// Package posixsuite compares a directory with a plain one, system call by
// system call: what POSIX and Linux promise of a filesystem, generated from
// tables of calls, of what they are called on, and of who calls.
//
// Nothing here says what the right answer is. Each case is built twice, in the
// directory under test and in a plain directory of the filesystem behind it,
// the same call is made in both by the same user, and the error number, the
// result and all that can be seen afterwards (modes, owners, link counts,
// sizes, times, contents) must be equal. Where the product answers otherwise
// on purpose, [Deviations] lists it with the reason, and a row that no case
// bears out fails. Tests of what one call cannot show (locks between
// processes, listings of what changes, appends from both sides) follow, then
// random operations and real programs.
//
// It must never know how the tree is made: what differs is a fact in
// [Subject]. The process that runs it must not be the one that serves the
// tree, and its TestMain must call [Main] first.
//
// Start with [Run]; a table is a file calls_*.go, the rows of what is called
// on are in targets.go, and compare.go runs a case.
package posixsuite
