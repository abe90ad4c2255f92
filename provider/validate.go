package provider

import (
	"fmt"
	"path"
	"strings"
)

// IsSessionName reports whether a session can have this name: 1 to 64 letters,
// digits, '_' and '-', as a thread's id.
func IsSessionName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxSessionName
}

const maxSessionName = 64

// Validate checks what can be checked without a sandbox. Kind: invalid.
func (c Command) Validate() error {
	bad := func(reason, next string) error {
		return &Error{Kind: Invalid, Op: "execute", Reason: reason, Next: next}
	}
	switch {
	case len(c.Argv) == 0 && c.Script == "":
		return bad("there is no command", "give a program with its arguments, or a script")
	case len(c.Argv) > 0 && c.Script != "":
		return bad("both a program and a script are given", "give one of them")
	case c.Session != "" && c.Script == "":
		return bad("a session runs scripts, not programs", "give the command as a script")
	case c.Session != "" && !IsSessionName(c.Session):
		return bad(fmt.Sprintf("%q is not the name of a session", c.Session), "use 1 to 64 letters, digits, '_' and '-'")
	case c.Session != "" && c.TTY != nil:
		return bad("a session's shell has no terminal", "run the command without a terminal, or without a session")
	case c.Dir != "" && !path.IsAbs(c.Dir):
		return bad(fmt.Sprintf("the working directory %q is not absolute", c.Dir), nextAbsolute)
	}
	if len(c.Argv) > 0 && c.Argv[0] == "" {
		return bad("the program's name is empty", "give a program")
	}
	for _, s := range append([]string{c.Script, c.Dir, c.Session}, c.Argv...) {
		if strings.ContainsRune(s, 0) {
			return bad("the command holds a NUL byte", "remove it")
		}
	}
	for name, value := range c.Env {
		if !IsEnvName(name) {
			return bad(fmt.Sprintf("%q is not the name of an environment variable", name), nextEnvName)
		}
		if strings.ContainsRune(value, 0) {
			return bad(fmt.Sprintf("the environment variable %s holds a NUL byte", name), "remove it")
		}
	}
	return nil
}
