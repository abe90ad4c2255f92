package audit

import (
	"errors"
	"path/filepath"
	"time"
)

// Config is what an audit is made from.
type Config struct {
	// Dir is the log's directory, made if it is missing.
	Dir string
	// Rules is a file of rules; empty means rules.yaml in Dir, if it is there.
	Rules string
	// Sync, MaxBytes and MaxAge are those of [LogOptions].
	Sync     Sync
	MaxBytes int64
	MaxAge   time.Duration
	// Required says what happens when a record cannot be written.
	Required Required
}

// RulesPath is the file of rules that is meant.
func (c Config) RulesPath() string {
	if c.Rules == "" {
		return filepath.Join(c.Dir, "rules.yaml")
	}
	return c.Rules
}

// Open opens the log and the rules, and returns the gate before them. Errors
// are those of [OpenLog]. While the rules were never right no agent's command
// runs: what they would forbid is not known. The caller closes the gate with
// [Gate.Close].
func Open(c Config) (*Gate, error) {
	if !filepath.IsAbs(c.Dir) {
		return nil, errors.New("audit: the log's directory must be an absolute path")
	}
	rules, _ := c.OpenRules() // the gate says what is wrong with it
	l, err := OpenLog(LogOptions{Dir: c.Dir, Sync: c.Sync, MaxBytes: c.MaxBytes, MaxAge: c.MaxAge})
	if err != nil {
		return nil, err
	}
	g := NewGate(GateOptions{Rules: rules, Log: l, Required: c.Required})
	g.close = l.Close
	return g, nil
}

// Close closes the log of a gate that [Open] made. Commands that are at work
// are to have ended.
func (g *Gate) Close() error {
	if g.close == nil {
		return nil
	}
	return g.close()
}
