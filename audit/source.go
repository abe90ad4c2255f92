package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// RulesFile is a file of rules that is read again when it changes. It is safe
// for concurrent use.
type RulesFile struct {
	path string

	mu    sync.Mutex
	named bool // it must be there
	seen  fileState
	last  *Classifier
	err   error
	right bool // it was at least once
}

// fileState tells one state of a file from another.
type fileState struct {
	there bool
	size  int64
	time  time.Time
	id    os.FileInfo
}

func (s fileState) same(o fileState) bool {
	return s.there == o.there && s.size == o.size && s.time.Equal(o.time) && (!s.there || os.SameFile(s.id, o.id))
}

// maxRulesFile bounds a file of rules, in bytes.
const maxRulesFile = 1 << 20

// NewRulesFile reads a file of rules. An empty path stands for the built-in
// rules alone; a file that is missing changes nothing until it is there. While a
// file was never right, the built-in rules hold and Classifier returns what is
// wrong with it.
func NewRulesFile(path string) (*RulesFile, error) {
	f := &RulesFile{path: path, last: NewClassifier(Builtin())}
	if path != "" {
		f.load(f.state())
	}
	return f, f.err
}

// OpenRules reads the file of rules that is meant. One that was named must be
// there. With the error comes what holds until the file is right.
func (c Config) OpenRules() (*RulesFile, error) {
	f := &RulesFile{path: c.RulesPath(), named: c.Rules != "", last: NewClassifier(Builtin())}
	f.load(f.state())
	return f, f.err
}

// usable reports whether the rules that hold are those that somebody wrote.
func (f *RulesFile) usable() bool {
	if f.path == "" {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.right
}

// Classifier returns the classifier for the file as it is now. While the file
// is wrong it is the last one that was right, and the error says what is wrong
// with it.
func (f *RulesFile) Classifier() (*Classifier, error) {
	if f.path == "" {
		return f.last, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.state(); !now.same(f.seen) {
		f.load(now)
	}
	return f.last, f.err
}

func (f *RulesFile) state() fileState {
	st, err := os.Stat(f.path)
	if err != nil {
		return fileState{}
	}
	return fileState{true, st.Size(), st.ModTime(), st}
}

func (f *RulesFile) load(now fileState) {
	f.seen = now
	if !now.there && f.named {
		f.err = errors.New("audit: the rules file that audit.rules names is not there; put it there, or name another")
		return
	}
	if !now.there {
		f.last, f.err, f.right = NewClassifier(Builtin()), nil, true
		return
	}
	if now.size > maxRulesFile {
		f.err = fmt.Errorf("audit: the rules file is greater than %d bytes; what was read before holds", maxRulesFile)
		return
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		f.err = fmt.Errorf("audit: reading the rules file: %w", err)
		return
	}
	rules, err := Builtin().With(text)
	if err != nil {
		f.err = err
		return
	}
	f.last, f.err, f.right = NewClassifier(rules), nil, true
}

// RuleInfo describes a rule.
type RuleInfo struct {
	ID      string  `json:"rule"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
}

// Rules lists the rules that hold now.
func (f *RulesFile) Rules() (list []RuleInfo) {
	c, _ := f.Classifier()
	for _, r := range c.rules.rules {
		list = append(list, RuleInfo{r.ID, r.verdict, r.Reason})
	}
	return list
}
