// Command tree compares filesystems: the same workloads, taking turns in one
// run, on a plain directory, on a thread's tree as a sandbox shows it and as a
// mount on the host shows it, and on other filesystems in user space over
// plain directories of the same disk (bindfs, the loopback example of go-fuse,
// fuse-overlayfs). It prints one table of ratios to the plain directory, with
// the targets of the design. `make bench` and `make bench-quick` call it.
//
// The process that measures is this program again (work.go): it enters the
// mount namespace of the subject, does one group of workloads in the subject's
// directory and prints how long each took. So every subject is measured from
// the same kind of process, without the filters and limits of a sandbox's
// commands, and without the time that a program needs to start.
//
// It must never touch the data or the runtime directory of its user, nor
// clean up through a mount: it makes directories of its own, and leaves them,
// saying so, where something is still mounted below them.
//
// Start with main.go, then rows.go, subject.go, measure.go and report.go.
package main
