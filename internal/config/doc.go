// Package config says with which settings sandboxfs runs: it reads the
// configuration file, the environment and the flags, and knows of each value
// where it came from.
//
// One table, [Keys], holds every key with its type, default, variable, flag
// and meaning. The parser, the verb `config`, the file that `config init`
// writes and the table in docs/CONFIG.md are made from it, so that none can
// lack a key.
//
// The file is YAML. Its section `sandbox:` has the keys of DeerFlow's section
// of that name and ours beside them; other sections are somebody else's and
// not looked at. What is read is bounded: [MaxFile] bytes, and a number of
// values after aliases are followed. A key that is not known is kept for
// [Config.Unknown] and warned about; a value of the wrong type is an error
// that names file, line and key.
//
// The package must never show a secret: the values of `environment` and those
// of unknown keys appear in no listing, warning or error.
//
// Read next: table.go, then load.go. What the settings mean is package
// provider's.
package config
