// Package fault tests what holds when things go wrong or come all at once:
// any of our processes is killed at a random moment, the disk is full, many
// programs want one thread, many commands run in it.
//
// It works on the built programs alone, from outside, and takes what is left
// behind from the kernel and not from the programs. It must end only processes
// of the sandboxes that it made.
//
// The forms here are short, for every run; -fault.rounds makes them long.
// Start with world_test.go, then kill_test.go.
package fault
