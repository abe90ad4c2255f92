// Package escape holds snippets that try to leave a sandbox, to see the host,
// to write what is read-only or to harm a neighbour, and says what must come
// of each.
//
// The cases are testdata/escape.tsv: an id, a JSON-escaped bash snippet, what
// is expected, and why. [ParseCases] reads them; the tests of this package
// run them through the built programs, as root and as an ordinary user, each
// in a thread of its own whose directory lies on a small store.
//
// It must never run a snippet outside a sandbox, and never a case that writes
// below /proc/sys in a sandbox mapped to the host's uid 0. The numbers of
// system calls in the snippets are those of x86-64.
//
// Start with [Case] and [Expectation], then world_test.go for what a case
// finds around it and checks_test.go for the checks made on the host.
package escape
