package audit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// CommandLimit is the greatest command that is judged, in characters.
const CommandLimit = 10_000

// Classifier judges commands. It holds nothing but its rules and is safe for
// concurrent use.
type Classifier struct{ rules *Rules }

// NewClassifier makes one. Rules are [Builtin]'s, or those with a file's
// changes.
func NewClassifier(rules *Rules) *Classifier { return &Classifier{rules} }

// Ids of the findings about a command that is refused without being read.
// They are no rules and cannot be softened.
const (
	RuleEmpty   = "empty-command"
	RuleTooLong = "command-too-long"
	RuleNUL     = "nul-byte"
)

// Judge says what a command is: whether it may run, and if not, or not
// without a word, which part of it met which rule. It runs nothing, opens
// nothing and asks nothing: equal commands are judged equally. A command is
// read as bash reads it; what cannot be read as shell grammar is judged by its
// words, see [Judgement].
func (c *Classifier) Judge(command string) Judgement {
	if j, refused := refuse(command); refused {
		return j
	}
	shared := c.read(command)
	slices.SortStableFunc(shared.findings, func(a, b Finding) int { return int(b.Verdict) - int(a.Verdict) })
	j := Judgement{Unparsed: shared.unparsed, Findings: shared.findings}
	if len(j.Findings) > 0 {
		j.Finding = j.Findings[0]
	}
	return j
}

// read goes over a command once.
func (c *Classifier) read(command string) *judging {
	shared := &judging{rules: c.rules}
	r := &reading{judging: shared, vars: variables{}, cwd: workspace}
	if tooNested(command) {
		r.engine("too-complex", command)
	} else {
		r.read(unmarked(command), input{})
	}
	return shared
}

// refuse answers for what is no command at all.
func refuse(command string) (Judgement, bool) {
	var f Finding
	switch {
	case strings.TrimSpace(command) == "":
		f = Finding{Block, RuleEmpty, "empty command", ""}
	case utf8.RuneCountInString(command) > CommandLimit:
		f = Finding{Block, RuleTooLong, "command too long: at most 10000 characters; write a script to a file and run it", excerpt(command)}
	case strings.ContainsRune(command, 0):
		f = Finding{Block, RuleNUL, "null byte detected", excerpt(strings.ReplaceAll(command, "\x00", "\\0"))}
	default:
		return Judgement{}, false
	}
	return Judgement{Finding: f, Findings: []Finding{f}}, true
}

// maxNesting bounds how deep brackets may open. The parser tries what each
// could mean, again and again where they are many.
const maxNesting = 60

func tooNested(command string) bool {
	depth := 0
	for i := range len(command) {
		switch command[i] {
		case '(', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ')', '}':
			depth = max(depth-1, 0)
		}
	}
	return false
}
