// Package hostview looks at a sandbox's processes from the host, without
// asking the sandbox or its programs: by the namespaces that the processes are
// in, by the program file that they run. Tests and benchmarks use it to hold
// what the programs say against what the kernel says.
//
// It only reads /proc and never signals anything. What an ordinary user may
// not read is left out.
//
// Start with [InUTS] and [Running].
package hostview
