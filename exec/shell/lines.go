package shell

import (
	"fmt"
	"sort"
	"strings"
)

// Names of the private files.
const (
	fileText   = "c" // the text of the next command
	fileStatus = "s" // FIFO: reports
	fileState  = "v" // the state after the last command
	fileEpilog = "z" // what a shell does after each command
	fileInput  = "i" // FIFO: standard input
)

// descriptor numbers under which the private directory is in the shell. It is
// closed while a command's text runs, so that nothing inherits it. bash takes
// numbers from 10 on for itself, 63 and below for process substitutions; sh
// knows one digit.
const (
	bashFD = 97
	shFD   = 9
)

// dialect is how one kind of shell is spoken to.
//
// Words that could be aliases are quoted by a backslash, and "builtin" and
// "command" go around functions. Who makes a function of that name gets a new
// shell. (bash forgets variables set before "builtin eval" after the first
// command of a text, but not those before "builtin command eval".)
type dialect struct {
	fd int
	// argv runs the shell.
	argv []string
	// greeting is sent to a new shell before anything else.
	greeting string
	// fetch brings the text in, on a line of its own; text is the word that
	// evaluates to it.
	fetch, text string
	// eval and cd run a builtin.
	eval, cd string
	// report, with the turn's number, is the second line of a command.
	report string
	// epilog writes the state down and reports.
	epilog string
	// hook, where the shell can, writes the state down when it exits.
	hook string
	// restore is what puts the state's sections back, in this order.
	restore []int
}

func bash(path string) dialect {
	dir := inShell(bashFD, "")
	return dialect{
		fd:       bashFD,
		argv:     []string{path, "--norc", "--noprofile", "-s"},
		greeting: "exec >/dev/null 2>&1\nshopt -s expand_aliases\n",
		fetch:    `\builtin mapfile -d '' -t _sandboxfs <` + dir + fileText + "\n",
		text:     `"${_sandboxfs[0]}"`,
		eval:     `\builtin command eval`,
		cd:       `\builtin cd`,
		report:   `_sandboxfs=(97 "%s:$?");\builtin . ` + dir + fileEpilog + "\n",
		// Each section ends with a NUL, which no shell's value can hold.
		epilog: `{ \builtin declare -p; \builtin printf '\0'
\builtin declare -f; \builtin declare -F; \builtin printf '\0'
\builtin shopt -p; \builtin printf '\0'
\builtin enable -n; \builtin printf '\0'
\builtin alias -p; \builtin umask -p
\builtin printf '\\builtin set --'; if [[ $# -gt 0 ]]; then \builtin printf ' %q' "$@"; fi; \builtin printf '\n\0'
\builtin trap -p; \builtin set +o; \builtin printf '\0'
\builtin pwd; \builtin printf '\0end'; } 2>/dev/null >|"/proc/self/fd/$_sandboxfs/v"
if [[ -n ${_sandboxfs[1]-} ]]; then \builtin printf '\0%s\0' "${_sandboxfs[1]}" >"/proc/self/fd/$_sandboxfs/s"; fi
\builtin unset -v _sandboxfs
`,
		// While a text runs, bash keeps the directory under a number that it
		// has chosen itself.
		hook: `trap '{ for _sandboxfs in 97 10 11 12 13 14 15 16 17 18 19 20 21 22; do if [[ -e /proc/self/fd/$_sandboxfs/z ]]; then \builtin . "/proc/self/fd/$_sandboxfs/z"; break; fi; done; } 2>/dev/null' EXIT` + "\n",
		// Options of the parser come first, and functions before aliases, with
		// which they would be read otherwise than they were written.
		restore: []int{sectionShopt, sectionVariables, sectionFunctions, sectionAliases, sectionShopt, sectionOptions, sectionDisabled},
	}
}

func sh(path string) dialect {
	dir := inShell(shFD, "")
	return dialect{
		fd:       shFD,
		argv:     []string{path, "-s"},
		greeting: "exec >/dev/null 2>&1\n",
		fetch:    `_sandboxfs=$(cat ` + dir + fileText + ")\n",
		text:     `"$_sandboxfs"`,
		eval:     `\command eval`,
		cd:       `\command cd`,
		report:   `_sandboxfs=%s:$?;\. ` + dir + fileEpilog + "\n",
		epilog: `{ \export -p; \printf '\0\0\0\0umask '; \umask; \printf '\0'; \trap; \set +o; \printf '\0'; \pwd; \printf '\0end'; } 2>/dev/null >|` + dir + fileState + `
\printf '\0%s\0' "$_sandboxfs" >` + dir + fileStatus + `
\unset _sandboxfs
`,
		restore: []int{sectionVariables, sectionAliases, sectionOptions},
	}
}

// command makes the two lines of one command. Only with variables or a
// directory of its own is the text inside a group: under set -x a group shows
// its content.
func (d *dialect) command(turn uint64, nonce string, c *Command) string {
	var b strings.Builder
	b.WriteString(d.fetch)
	core := d.eval + " " + d.text
	if len(c.Env) > 0 {
		core = assignments(c.Env) + core
	}
	if c.Dir != "" {
		core = d.cd + " -- " + quote(c.Dir) + " && " + core
	}
	if c.Dir != "" || len(c.Env) > 0 {
		core = "{ " + core + "; }"
	}
	input := "/dev/null"
	if c.Stdin {
		input = inShell(d.fd, fileInput)
	}
	fmt.Fprintf(&b, "%s <%s >%s 2>%s %d<&-\n", core, input, inShell(d.fd, outName(turn)), inShell(d.fd, errName(turn)), d.fd)
	fmt.Fprintf(&b, d.report, nonce)
	return b.String()
}

func outName(turn uint64) string { return fmt.Sprintf("o%d", turn) }
func errName(turn uint64) string { return fmt.Sprintf("e%d", turn) }

// assignments are those before a command, for it alone.
func assignments(env map[string]string) string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name + "=" + quote(env[name]) + " ")
	}
	return b.String()
}

// quote makes one word of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
