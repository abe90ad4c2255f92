// Package filesuite says what the file calls of every provider.Sandbox do, as
// tests that take a constructor.
//
// A provider's own tests call [Run] with a function that returns a live
// sandbox and with what is particular about it ([Facts]). It must never look
// at a host path or know a provider: what a file call cannot make (links,
// FIFOs, modes) a command in the sandbox makes.
//
// Read next: suite.go for the frame, then one file for each group of calls.
package filesuite
