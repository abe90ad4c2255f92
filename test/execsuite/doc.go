// Package execsuite says what commands do in every provider.Sandbox, as tests
// that take a constructor.
//
// A provider's own tests call [Run] with a function that returns a live
// sandbox, and with what is particular about it ([Facts]). What needs live
// streams runs where the sandbox is a provider.Starter, and is skipped with a
// reason elsewhere. It must never look at the host or know a provider.
//
// Read next: suite.go for the frame, then one file for each group.
package execsuite
