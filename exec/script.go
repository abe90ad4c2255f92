package exec

import (
	"path"
	"strings"
)

// maxArgument is the kernel's limit for one argument with its final NUL
// (MAX_ARG_STRLEN, 32 pages of 4 KiB).
const maxArgument = 32 * 4096

// scriptFD is the descriptor under which a shell finds a long script.
const scriptFD = "3"

// scriptNumber is scriptFD as a number.
const scriptNumber = 3

// longScript finds a script that is too long to be an argument: the word after
// an option with c (-c, -lc, -ec) of a known shell. It returns the arguments
// with a short one in its place, and the script.
//
// The short one evaluates the script from a descriptor. Expansion comes before
// redirection in both shells, so the descriptor is read first and is closed
// while the script runs; nothing that the script starts inherits it. The script
// keeps its $0, its positional parameters and its stdin, as with -c; only
// newlines at its very end are lost, which a shell ignores anyway.
func longScript(argv []string) (short []string, script string, found bool) {
	var text string
	switch path.Base(argv[0]) {
	case "bash":
		text = `eval -- "$(</dev/fd/` + scriptFD + `)" ` + scriptFD + `<&-`
	case "sh", "dash":
		text = `eval "$(cat <&` + scriptFD + `)" ` + scriptFD + `<&-`
	default:
		return argv, "", false
	}
	for i, a := range argv[1:] {
		if !strings.HasPrefix(a, "-") {
			return argv, "", false
		}
		if strings.HasPrefix(a, "--") || !strings.Contains(a, "c") {
			continue
		}
		at := i + 2
		if at >= len(argv) || len(argv[at]) < maxArgument {
			return argv, "", false
		}
		short = append(short, argv[:at]...)
		short = append(short, text)
		short = append(short, argv[at+1:]...)
		return short, argv[at], true
	}
	return argv, "", false
}
