// Package script holds the tests of the command line as text: each file below
// testdata is a script of commands and what must come of them, for one verb or
// one promise, run over the built programs with a data and a runtime directory
// of its own. Read them as documentation by example.
//
// It must never reach into the programs: what a script cannot see, a user of
// the command line cannot either.
//
// Start with testdata/exec.txtar; script_test.go has the commands that scripts
// may use beside those of package testscript.
package script
