package escape

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// ExpectKind is what an expectation is about.
type ExpectKind int

const (
	// ExitIs and ExitIsNot look at the exit status: "rc=N", "rc!=N".
	ExitIs ExpectKind = iota
	ExitIsNot
	// Matches and MatchesNot look at the output: "out~RE", "out!~RE".
	Matches
	MatchesNot
	// Within bounds the time: "time<SECONDS".
	Within
	// OnHost is a check made outside the sandbox: "host~TEXT".
	OnHost
	// TimeLimit runs the snippet with a timeout: "TIMEOUT=SECONDS".
	TimeLimit
	// Session runs the snippet in a session: "SESSION".
	Session
	// Next runs a command in the same session: "next(CMD)~RE", or
	// "next(CMD) TEXT".
	Next
	// Words is an expectation of a session in words.
	Words
	// Net asks for a network mode: "NET=MODE".
	Net
)

// Expectation is one part of what a case expects.
type Expectation struct {
	Kind ExpectKind
	// Code is the exit status of ExitIs and ExitIsNot.
	Code int
	// Limit is the time of Within and TimeLimit.
	Limit time.Duration
	// Pattern is the expression of Matches, MatchesNot and Next.
	Pattern *regexp2.Regexp
	// Text is the check of OnHost, the command of Next, the mode of Net, the
	// words of Words.
	Text string
}

// patternDeadline bounds one match: the dialect backtracks.
const patternDeadline = 10 * time.Second

// heads begin a part; " && " before anything else belongs to the part that it
// is in.
var heads = [...]string{"rc=", "rc!=", "out~", "out!~", "time<", "host~", "TIMEOUT=", "SESSION", "next(", "NET="}

// ParseExpectations reads parts joined by " && ". The joiner is part of a
// command or an expression where no known part follows it.
func ParseExpectations(s string) ([]Expectation, error) {
	var all []Expectation
	for _, part := range splitParts(s) {
		e, err := parseExpectation(part)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func splitParts(s string) []string {
	const joiner = " && "
	var parts []string
	for i, piece := range strings.Split(s, joiner) {
		if i > 0 && !startsPart(piece) && parts[len(parts)-1] != "SESSION" {
			parts[len(parts)-1] += joiner + piece
			continue
		}
		parts = append(parts, piece)
	}
	return parts
}

func startsPart(s string) bool {
	for _, h := range heads {
		if strings.HasPrefix(s, h) {
			return true
		}
	}
	return false
}

func parseExpectation(s string) (Expectation, error) {
	rest := func(head string) (string, bool) { return strings.CutPrefix(s, head) }
	if s == "SESSION" {
		return Expectation{Kind: Session}, nil
	}
	if v, ok := rest("rc="); ok {
		return exit(ExitIs, v)
	}
	if v, ok := rest("rc!="); ok {
		return exit(ExitIsNot, v)
	}
	if v, ok := rest("out~"); ok {
		return pattern(Matches, v)
	}
	if v, ok := rest("out!~"); ok {
		return pattern(MatchesNot, v)
	}
	if v, ok := rest("time<"); ok {
		return limit(Within, v)
	}
	if v, ok := rest("TIMEOUT="); ok {
		return limit(TimeLimit, v)
	}
	if v, ok := rest("host~"); ok && v != "" {
		return Expectation{Kind: OnHost, Text: v}, nil
	}
	if v, ok := rest("NET="); ok && v != "" {
		return Expectation{Kind: Net, Text: v}, nil
	}
	if v, ok := rest("next("); ok {
		return next(v)
	}
	if s != "" && !startsPart(s) {
		return Expectation{Kind: Words, Text: s}, nil
	}
	return Expectation{}, fmt.Errorf("the expectation %q is not understood", s)
}

func exit(kind ExpectKind, v string) (Expectation, error) {
	code, err := strconv.Atoi(v)
	if err != nil || code < 0 || code > 255 {
		return Expectation{}, fmt.Errorf("%q is no exit status", v)
	}
	return Expectation{Kind: kind, Code: code}, nil
}

func limit(kind ExpectKind, v string) (Expectation, error) {
	const longest = 24 * 60 * 60
	seconds, err := strconv.ParseFloat(v, 64)
	if err != nil || !(seconds > 0 && seconds <= longest) {
		return Expectation{}, fmt.Errorf("%q is no time in seconds", v)
	}
	return Expectation{Kind: kind, Limit: time.Duration(seconds * float64(time.Second))}, nil
}

// pattern compiles an expression in the dialect that the cases are written
// in, with look-ahead, in which ^ and $ match at every line.
func pattern(kind ExpectKind, v string) (Expectation, error) {
	re, err := regexp2.Compile(v, regexp2.Multiline)
	if err != nil {
		return Expectation{}, fmt.Errorf("the expression %q: %w", v, err)
	}
	re.MatchTimeout = patternDeadline
	return Expectation{Kind: kind, Pattern: re}, nil
}

// next reads "CMD)~RE" or "CMD) TEXT", where CMD can hold parentheses.
func next(v string) (Expectation, error) {
	if cmd, re, ok := strings.Cut(v, ")~"); ok {
		e, err := pattern(Next, re)
		e.Text = cmd
		return e, err
	}
	if cmd, _, ok := strings.Cut(v, ") "); ok {
		return Expectation{Kind: Next, Text: cmd}, nil
	}
	return Expectation{}, fmt.Errorf("the expectation %q is not understood", "next("+v)
}
