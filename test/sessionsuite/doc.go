// Package sessionsuite is what every sandbox that keeps sessions must do: the
// contract of [provider.Sessioner] and [provider.JobKeeper], as tests over a
// constructor. It runs commands only through the interfaces, so a provider of
// another make passes it or does not.
//
// It must never need root, a network, or anything of the sandbox but a shell,
// sleep and a writable working directory.
//
// Read next: suite.go, then one file for each side of a session.
package sessionsuite
