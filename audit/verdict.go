package audit

import (
	"encoding/json"
	"fmt"
)

// Verdict is what is to be done with a command. A greater one is stricter.
type Verdict int

const (
	// Pass lets the command run.
	Pass Verdict = iota
	// Warn lets it run, and tells the agent and the record why it was noticed.
	Warn
	// Block keeps it from running.
	Block
)

var verdictNames = [...]string{"pass", "warn", "block"}

// String returns "pass", "warn" or "block".
func (v Verdict) String() string {
	if v < Pass || v > Block {
		return fmt.Sprintf("verdict %d", int(v))
	}
	return verdictNames[v]
}

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the name.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdictNames {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("audit: %q is no verdict; use pass, warn or block", text)
}

// Finding is one rule that a part of a command met.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	// Rule is the id by which a rules file can change it.
	Rule string `json:"rule"`
	// Reason says what is wrong with it, for people and models.
	Reason string `json:"reason"`
	// Part is the piece of the command that met the rule, at most partLimit
	// characters of it.
	Part string `json:"part,omitempty"`
}

// Judgement is what the classifier thinks of a command: the strictest finding,
// and all of them. Without findings it is Pass.
type Judgement struct {
	Finding
	// Unparsed says that a part could not be read as shell grammar, and was
	// judged by its words alone, where a doubt counts against it.
	Unparsed bool `json:"unparsed,omitempty"`
	// Findings are all, strictest first, in the order of the command otherwise.
	Findings []Finding `json:"findings,omitempty"`
}

// MarshalJSON writes a judgement as one flat object.
func (j Judgement) MarshalJSON() ([]byte, error) {
	type plain struct {
		Verdict  Verdict   `json:"verdict"`
		Rule     string    `json:"rule,omitempty"`
		Reason   string    `json:"reason,omitempty"`
		Part     string    `json:"part,omitempty"`
		Unparsed bool      `json:"unparsed,omitempty"`
		Findings []Finding `json:"findings,omitempty"`
	}
	return json.Marshal(plain{j.Verdict, j.Rule, j.Reason, j.Part, j.Unparsed, j.Findings})
}

// partLimit bounds Finding.Part, in characters.
const partLimit = 200

func excerpt(text string) string {
	runes := []rune(text)
	if len(runes) <= partLimit {
		return text
	}
	return string(runes[:partLimit-1]) + "…"
}
