// Package tool is what an AI agent calls: bash, ls, read_file, write_file,
// str_replace, glob and grep, over any [provider.Sandbox].
//
// A [Set] has the seven tools for one thread. It takes the arguments as a model
// writes them ([Set.Call]) or as Go values (one method each), and answers with
// a text for the model and a typed result. It knows no model, no protocol and
// no provider; what an agent framework needs of each tool, names, descriptions and
// JSON schemas, are its [Specs].
//
// It must never show a host path, take a failure for an empty answer, run a
// command that the audit did not let through, or hold more than a bounded part
// of a file or of a command's output.
//
// Start with [Set] and call.go, then one file per tool. docs/TOOLS.md is the
// contract for agents.
package tool
