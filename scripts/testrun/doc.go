// Command testrun runs all checks and tests of the module, one step after the
// other, and ends with what was skipped and why and with how much passed. It
// is what `make test` calls.
//
// It installs nothing and decides nothing about a machine: a test that needs
// something the machine lacks skips itself and says so. Start with steps.go.
package main
