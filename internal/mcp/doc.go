// Package mcp serves the tools of package tool over the Model Context Protocol.
//
// One [Server] serves any number of sessions, over stdio or over HTTP: which
// thread a call is for is said by the session that it comes from ([Options.Tools]),
// never by anything that belongs to the process. It knows no provider and no
// configuration.
//
// It must never write to standard output what is not the protocol's, answer a
// tool that failed with an error of the protocol, which a model does not see,
// or let a command outlive its cancelled call.
//
// Start with server.go. docs/TOOLS.md has the contract, docs/CLI.md the verb.
package mcp
