// Package test holds the rules of this module that a program can check: they
// are tests over the source tree itself, so that breaking one fails with the
// rule and its reason. Below it lie the suites that are imported by the tests
// of several packages, and the tests of the built programs.
//
// The rules must never depend on the machine: they read the source and ask
// `go list`, nothing else. A folder that does not exist yet breaks no rule.
//
// Read next: tree_test.go for how the source is read, then the rules by name:
// docs_test.go, layout_test.go, imports_test.go, interfaces_test.go,
// state_test.go, calls_test.go, words_test.go, dependencies_test.go.
package test
