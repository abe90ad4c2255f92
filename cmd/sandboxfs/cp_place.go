//go:build linux

package main

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/urfave/cli/v2"
)

// place is an argument of cp: a path in a thread, a path of this machine, or
// one of the standard streams.
type place struct {
	// text is as it was given.
	text string
	// stream is set for "-".
	stream bool
	// inThread is set for a path in the thread of key; then path is virtual
	// and absolute.
	inThread bool
	key      mapping.Key
	path     string
	// slash says that it ended in one, so that it must be a directory, and
	// contents that it ended in "/.": what is in the directory is meant.
	slash, contents bool
}

// parsePlace reads an argument as scp does: a colon before the first slash
// makes it a path in a thread.
func parsePlace(c *cli.Context, arg string) (place, error) {
	p := place{text: printable(arg), path: arg}
	if arg == "-" {
		p.stream = true
		return p, nil
	}
	if arg == "" {
		return p, usageError{"an argument is empty; name a file"}
	}
	before, rest, ok := strings.Cut(arg, ":")
	if ok && !strings.Contains(before, "/") {
		name := before
		// A second id is the thread, and the first the user.
		if second, after, ok := strings.Cut(rest, ":"); ok && mapping.ValidateID("thread", second) == nil {
			name, rest = before+":"+second, after
		}
		key, err := parseThread(c, name)
		if err != nil {
			return p, usageError{err.Error() + "; if " + p.text + " is a file of this machine, write ./" + p.text}
		}
		p.inThread, p.key, p.path = true, key, rest
		if !path.IsAbs(rest) {
			p.path = mapping.UserData + "/" + rest
		}
	}
	p.slash = strings.HasSuffix(p.path, "/")
	p.contents = p.path == "." || strings.HasSuffix(p.path, "/.")
	if !p.inThread {
		p.path = filepath.Clean(p.path)
	} else if !strings.Contains(p.path+"/", "/../") {
		p.path = path.Clean(p.path) // else it is refused as it stands
	}
	return p, nil
}

// base is the name that a copy of it keeps; "." where it has none, and what is
// in it is copied.
func (p place) base() string {
	if base := filepath.Base(p.path); !p.contents && base != "/" && base != ".." {
		return base
	}
	return "."
}
