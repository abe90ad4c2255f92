// Package audit judges the commands that agents want to run and records every
// command that is run.
//
// A [Gate] stands before a sandbox. [Gate.Begin] judges a command by the
// syntax of the shell ([Classifier]), writes the record of its start to a [Log]
// and says whether it may run; [Entry.End] records its end. Nothing of an agent
// runs without a record. The log is a chain of MACs, in which [Verify] finds
// what somebody without the key did to it.
//
// It must never run, open or look up anything that a command names, never
// let a command through whose record could not be written, and never be taken
// for the boundary: that is the sandbox, which holds whatever a command says.
//
// Read next: reading.go for how a command is gone through, builtin.go for the
// rules, append.go for the log; docs/AUDIT.md for what it proves and what not.
package audit
