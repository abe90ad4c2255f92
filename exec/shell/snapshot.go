package shell

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxState bounds a state that is kept for a new shell, in bytes.
const maxState = 8 << 20

// Sections of a state, in the order of the file.
const (
	sectionVariables = iota
	sectionFunctions
	sectionShopt
	sectionDisabled
	sectionAliases
	sectionOptions
	sectionDir
	sections
)

// state is what a shell said about itself: text that another shell can read.
type state struct {
	section [sections][]byte
}

var (
	errNoState    = errors.New("the shell wrote no state down")
	errStateLarge = errors.New("the state is larger than 8 MiB")
)

// readState reads what the shell has written down since the file was removed.
func readState(p *private) (*state, error) {
	f, err := p.open(fileState, unix.O_RDONLY)
	if err != nil {
		return nil, errNoState
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return nil, errNoState
	}
	if len(content) > maxState {
		return nil, errStateLarge
	}
	return parseState(content)
}

// parseState takes a complete state apart.
func parseState(content []byte) (*state, error) {
	parts := bytes.Split(content, []byte{0})
	if len(parts) != sections+1 || string(parts[sections]) != "end" {
		return nil, errNoState
	}
	s := &state{}
	copy(s.section[:], parts)
	return s, nil
}

// dir is the working directory, "" where it is none that can be entered again.
func (s *state) dir() string {
	dir := strings.TrimSuffix(string(s.section[sectionDir]), "\n")
	if !path.IsAbs(dir) || len(dir) >= unix.PathMax {
		return ""
	}
	return dir
}

// hasExitTrap reports whether something is to be done at the shell's exit.
func (s *state) hasExitTrap() bool {
	return bytes.Contains(s.section[sectionOptions], []byte("' EXIT\n"))
}

// dropErrexit switches set -e off and reports whether it was on.
func (s *state) dropErrexit() bool {
	const on, off = "set -o errexit\n", "set +o errexit\n"
	o := s.section[sectionOptions]
	if !bytes.Contains(o, []byte(on)) {
		return false
	}
	s.section[sectionOptions] = bytes.ReplaceAll(o, []byte(on), []byte(off))
	return true
}

// vital are the variables that a shell needs to be able to set.
var vital = []string{"PWD", "OLDPWD", "HOME", "PATH", "IFS"}

// dropReadonly makes the vital variables writable and returns the names of
// those that were not.
func (s *state) dropReadonly() (names []string) {
	lines := bytes.SplitAfter(s.section[sectionVariables], []byte("\n"))
	for i, line := range lines {
		flags, rest, ok := bytes.Cut(bytes.TrimPrefix(line, []byte("declare -")), []byte(" "))
		if !ok || !bytes.HasPrefix(line, []byte("declare -")) || !bytes.ContainsRune(flags, 'r') {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(string(rest)), "=")
		for _, v := range vital {
			if v != name {
				continue
			}
			names = append(names, name)
			flags = bytes.ReplaceAll(flags, []byte("r"), nil)
			if len(flags) == 0 {
				flags = []byte("-")
			}
			lines[i] = append(append(append([]byte("declare -"), flags...), ' '), rest...)
		}
	}
	if len(names) > 0 {
		s.section[sectionVariables] = bytes.Join(lines, nil)
	}
	return names
}

// needed are the builtins by which this package speaks to bash.
var needed = []string{
	"builtin", "command", "eval", "mapfile", ".", "declare", "shopt", "enable", "alias", "umask", "trap", "set", "pwd", "cd", "printf", "unset",
}

// dropDisabled switches the builtins on that this package needs and returns
// those that were switched off.
func (s *state) dropDisabled() (names []string) {
	var kept []byte
	for line := range bytes.Lines(s.section[sectionDisabled]) {
		name := strings.TrimSpace(strings.TrimPrefix(string(line), "enable -n "))
		if slices.Contains(needed, name) {
			names = append(names, name)
		} else {
			kept = append(kept, line...)
		}
	}
	s.section[sectionDisabled] = kept
	return names
}
