// Package toolsuite is the test suite for package tool over a provider: what an
// agent is told, bit by bit. A provider's own tests run it ([Run]) to see that
// the tools work on its sandboxes as on any other's.
//
// Cases that are an exchange of arguments and answers are data, in cases.json;
// the others are one function each.
package toolsuite
