package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rules are what a [Classifier] goes by: the built-in ones, and what a file
// changes of them. They are not changed once made.
type Rules struct {
	rules []rule
	sets  map[string][]string

	// What follows is made of them by prepare.
	names    map[string]*names // of sets
	ready    []prepared        // of all matches
	wrappers map[string]wrapper
}

// rule is one entry of a rules file. It is met when one of its matches is.
type rule struct {
	ID      string  `yaml:"id"`
	Verdict string  `yaml:"verdict"` // of a Verdict, or off
	Reason  string  `yaml:"reason"`
	Any     []match `yaml:"any"`

	verdict Verdict
}

// match is what a command must be for a rule. All that is given must hold.
// Names may be those of sets, with "@" before them.
type match struct {
	// Command are names of programs, with "*".
	Command []string `yaml:"command"`
	// Except are names for which the match does not hold.
	Except []string `yaml:"except"`
	// Flags are groups, of each of which one flag must be given.
	Flags [][]string `yaml:"flags"`
	// Without are flags of which none may be given.
	Without []string `yaml:"without"`
	// Words are the first operands, alternatives separated by "|".
	Words []string `yaml:"words"`
	// Operand are paths, of which one operand must be one. "*" stands for
	// one element, "**" for any number.
	Operand []string `yaml:"operand"`
	// Read are paths that are read, or named by an operand.
	Read []string `yaml:"read"`
	// Write are paths that are written, moved or removed.
	Write []string `yaml:"write"`
	// Assign are names of variables that get a value that is not empty.
	Assign []string `yaml:"assign"`
	// Mode is "world-writable": an operand is a mode that lets everybody write.
	Mode string `yaml:"mode"`
	// Analysis names one of the classifier's own: see analyses.
	Analysis string `yaml:"analysis"`
}

// analyses are what a rule cannot describe and the classifier finds by itself.
var analyses = []string{
	"substituted-command", "fed-interpreter", "piped-shell", "fork-bomb", "endless-spawn", "unparsed", "too-complex",
}

// document is a rules file.
type document struct {
	Sets  map[string][]string `yaml:"sets"`
	Rules []rule              `yaml:"rules"`
}

var idPattern = lazy(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Builtin returns the rules that are part of the program.
func Builtin() *Rules {
	r := &Rules{sets: builtInSets(), rules: builtInRules()}
	for i := range r.rules {
		if err := r.rules[i].verdict.UnmarshalText([]byte(r.rules[i].Verdict)); err != nil {
			panic(err) // a test reads them
		}
	}
	r.prepare()
	return r
}

// With returns the rules as a file changes them: an entry with a known id
// replaces what it gives (verdict, reason, any), one with a new id is added.
// Verdict "off" takes a rule away. A set's names are added to it. An error
// names the entry and what is wrong with it.
func (r *Rules) With(file []byte) (*Rules, error) {
	var d document
	decoder := yaml.NewDecoder(bytes.NewReader(file))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("audit: the rules file is no list of rules: %w", err)
	}
	out := &Rules{rules: slices.Clone(r.rules), sets: maps.Clone(r.sets)}
	if out.sets == nil {
		out.sets = map[string][]string{}
	}
	for name, members := range d.Sets {
		out.sets[name] = append(slices.Clone(out.sets[name]), members...)
	}
	for i, change := range d.Rules {
		if err := out.change(change); err != nil {
			return nil, fmt.Errorf("audit: rule %d (%q): %w", i+1, change.ID, err)
		}
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	out.prepare()
	return out, nil
}

func (r *Rules) change(n rule) error {
	if !idPattern().MatchString(n.ID) {
		return errors.New("the id must be of small letters, digits and dashes")
	}
	at := slices.IndexFunc(r.rules, func(o rule) bool { return o.ID == n.ID })
	if n.Verdict == "off" {
		if at < 0 {
			return errors.New("there is no such rule to switch off; `sandboxfs audit rules` lists them")
		}
		r.rules = slices.Delete(r.rules, at, at+1)
		return nil
	}
	if at < 0 {
		if n.Verdict == "" || n.Reason == "" || len(n.Any) == 0 {
			return errors.New("a new rule needs a verdict, a reason and at least one match below any")
		}
		r.rules = append(r.rules, rule{ID: n.ID})
		at = len(r.rules) - 1
	}
	now := &r.rules[at]
	if n.Verdict != "" {
		if err := now.verdict.UnmarshalText([]byte(n.Verdict)); err != nil {
			return err
		}
		now.Verdict = n.Verdict
	}
	if n.Reason != "" {
		now.Reason = n.Reason
	}
	if len(n.Any) > 0 {
		now.Any = n.Any
	}
	return nil
}

// check finds what no match could ever mean.
func (r *Rules) check() error {
	for _, rule := range r.rules {
		for i, m := range rule.Any {
			if err := r.checkMatch(m); err != nil {
				return fmt.Errorf("audit: rule %q, match %d: %w", rule.ID, i+1, err)
			}
		}
	}
	return nil
}

func (r *Rules) checkMatch(m match) error {
	if m.Analysis != "" && !slices.Contains(analyses, m.Analysis) {
		return fmt.Errorf("there is no analysis %q; there are %s", m.Analysis, strings.Join(analyses, ", "))
	}
	if m.Mode != "" && m.Mode != "world-writable" {
		return fmt.Errorf("there is no mode %q; there is world-writable", m.Mode)
	}
	if m.Analysis == "" && m.Command == nil && m.Read == nil && m.Write == nil && m.Assign == nil && m.Operand == nil {
		return errors.New("it would be met by every command; give command, operand, read, write or assign")
	}
	for _, list := range append([][]string{m.Command, m.Except, m.Operand, m.Read, m.Write, m.Assign}, m.Flags...) {
		for _, name := range list {
			if set, ok := strings.CutPrefix(name, "@"); ok && r.sets[set] == nil {
				return fmt.Errorf("there is no set %q", set)
			}
			if _, err := path.Match(name, ""); err != nil {
				return fmt.Errorf("%q is no pattern: %w", name, err)
			}
		}
	}
	return nil
}
