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
	seen  fileState
	last  *Classifier
	err   error
	asked time.Time
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
// rules alone; a file that is missing changes nothing until it is there.
func NewRulesFile(path string) (*RulesFile, error) {
	f := &RulesFile{path: path, last: NewClassifier(Builtin())}
	if path == "" {
		return f, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.load(f.state()); f.err != nil {
		return nil, f.err
	}
	return f, nil
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
	if !now.there {
		f.last, f.err = NewClassifier(Builtin()), nil
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
	f.last, f.err = NewClassifier(rules), nil
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
