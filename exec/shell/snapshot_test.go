package shell

import (
	"strings"
	"testing"
)

func stateOf(section int, text string) *state {
	s := &state{}
	s.section[section] = []byte(text)
	return s
}

func TestParseState(t *testing.T) {
	whole := strings.Join([]string{"vars", "funcs", "shopt", "disabled", "aliases", "options", "/dir\n", "end"}, "\x00")
	s, err := parseState([]byte(whole))
	if err != nil || string(s.section[sectionVariables]) != "vars" || string(s.section[sectionOptions]) != "options" || s.dir() != "/dir" {
		t.Fatalf("got %+v, %v", s, err)
	}
	// A shell that ended while it wrote is not believed.
	for cut := range len(whole) {
		if _, err := parseState([]byte(whole[:cut])); err == nil {
			t.Errorf("cut after %d bytes: want an error", cut)
		}
	}
	if _, err := parseState([]byte(whole + "\x00end")); err == nil {
		t.Error("too many sections: want an error")
	}
}

func TestStateDir(t *testing.T) {
	for in, want := range map[string]string{"/a b\n": "/a b", "/a\n\n": "/a\n", "a\n": "", "": "", "/" + strings.Repeat("x", 5000) + "\n": ""} {
		if got := stateOf(sectionDir, in).dir(); got != want {
			t.Errorf("%.20q: want %q, got %q", in, want, got)
		}
	}
}

func TestDropReadonly(t *testing.T) {
	s := stateOf(sectionVariables, "declare -r PWD=\"/x\"\ndeclare -rx HOME\ndeclare -ir UID=\"0\"\ndeclare -r mine=\"declare -r PATH=\"\ndeclare -x PATH=\"r\"\n")
	if names := s.dropReadonly(); strings.Join(names, " ") != "PWD HOME" {
		t.Errorf("got %v", names)
	}
	want := "declare -- PWD=\"/x\"\ndeclare -x HOME\ndeclare -ir UID=\"0\"\ndeclare -r mine=\"declare -r PATH=\"\ndeclare -x PATH=\"r\"\n"
	if got := string(s.section[sectionVariables]); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestDropDisabled(t *testing.T) {
	s := stateOf(sectionDisabled, "enable -n kill\nenable -n eval\n")
	if names := s.dropDisabled(); strings.Join(names, " ") != "eval" {
		t.Errorf("got %v", names)
	}
	if got := string(s.section[sectionDisabled]); got != "enable -n kill\n" {
		t.Errorf("got %q", got)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"": "''", "a b": "'a b'", "it's": `'it'\''s'`, "\n$x`": "'\n$x`'"} {
		if got := quote(in); got != want {
			t.Errorf("%q: want %s, got %s", in, want, got)
		}
	}
}

// What is sent for a command is two lines, or three, whatever the command is.
func TestCommandLines(t *testing.T) {
	for _, d := range []dialect{bash("/bin/bash"), sh("/bin/sh")} {
		c := &Command{Text: "never\nin\nthe lines", Stdin: true}
		lines := d.command(7, "nonce", c)
		if n := strings.Count(lines, "\n"); n > 3 || strings.Contains(lines, "never") || !strings.Contains(lines, "nonce:$?") {
			t.Errorf("%s: got %q", d.argv[0], lines)
		}
		if strings.Contains(d.command(7, "nonce", &Command{}), fileInput+" ") {
			t.Errorf("%s: standard input is not wanted: %q", d.argv[0], lines)
		}
	}
}
