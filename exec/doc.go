// Package exec runs commands inside a sandbox and ends a command's whole
// process tree while others run on. It works in the guest, the sandbox's pid 1.
//
// # How a tree is ended
//
// Every running command belongs to a slot: a small process of our own (the same
// binary, verb "slot") that is the command's parent and, where the sandbox may
// make namespaces, pid 1 of a pid namespace of its own. When the command's main
// process has ended, the slot kills and reaps whatever it left behind, says so,
// and is free for the next command. In a pid namespace that is complete by the
// kernel's rules: kill(-1) is one pass under the process-table lock, and killing
// the slot itself ends the namespace. Without namespaces the slot is a subreaper
// that follows the rule "while killing, reap nothing" (see subreaper.go), with
// the command in a Landlock domain from which no signal leaves.
//
// A one-shot ends with its main process, never with the end of its output: a
// left-over process that holds a pipe open delays nobody.
//
// # What a command can do to its slot
//
// Slots are used again, so nothing that a command does to one may stay. The slot
// is not dumpable; the filter refuses to change the limits, priority, scheduling
// and processors of any process but the caller's own and, in a pid namespace,
// those numbered after the slot's threads. (Without namespaces renice, taskset -p
// and prlimit on another process therefore fail with EPERM.) A slot that finds
// itself changed after a command says so and is discarded.
//
// # Where to read next
//
// command.go (what is run), executor.go (the pool), slothandle.go (one slot as
// the guest sees it), slotmain.go and slotrun.go (the slot itself), output.go
// (reading what a command wrote), headtail.go (bounding it).
//
// # What this package must never do
//
// Ignore a signal (signal.Ignore): commands would inherit that. Let a command
// inherit a descriptor above 2 or a capability. Wait for the end of a pipe.
// Know about files, mappings, providers or the wire: it imports none of them.
package exec
