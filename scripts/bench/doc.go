// Command bench measures what the design gives a budget for: a command in a
// live sandbox through the library and through the command line, a cold start,
// the start of sandboxfsd, the memory of an idle sandbox; beside plain bash
// and bubblewrap with comparable mounts. `make bench` calls it.
//
// All subjects take turns in one run, in an order that rotates, so that what
// else the machine does falls on all alike: trust the ratios, and compare
// milliseconds only within one table. It judges nothing in CI: its tables are
// a record for people.
//
// It must never touch the data or the runtime directory of its user: it makes
// its own and removes them. Start with main.go, then subject.go.
package main
