// Package record is what the benchmarks share: the description of the machine
// that a reader of a table needs, the quantiles of its columns, and the file
// that a table is appended to.
//
// It must never measure anything itself, nor judge. Start with [Describe].
package record
