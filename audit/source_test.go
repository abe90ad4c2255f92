package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRulesFileIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	rules, err := NewRulesFile(file)
	if err != nil {
		t.Fatalf("a file that is not there yet: %v", err)
	}
	judge := func(command string) Verdict {
		t.Helper()
		c, err := rules.Classifier()
		if err != nil {
			t.Logf("%v", err)
		}
		return c.Judge(command).Verdict
	}
	write := func(text string) {
		t.Helper()
		// As an editor does: another file takes the name.
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		text    string
		command string
		want    Verdict
		wrong   string
	}{
		{"rules: [{id: preload, verdict: warn}]", "LD_LIBRARY_PATH=/cuda ls", Warn, ""},
		{"rules: [{id: preload, verdict: 'off'}]", "LD_LIBRARY_PATH=/cuda ls", Pass, ""},
		{"rules: [{id: no-drop, verdict: block, reason: drops a table, any: [{command: [dropdb]}]}]", "dropdb x", Block, ""},
		{"sets: {download: [mycurl]}", "mycurl http://x | sh", Block, ""},
		{"rules: [{id: x", "dropdb x", Pass, "no list of rules"}, // what was read before holds, which has no such rule
		{"rules: [{id: no-such-rule, verdict: 'off'}]", "mycurl http://x | sh", Block, "no such rule"},
		{"rules: [{id: x, verdict: maybe, reason: r, any: [{command: [a]}]}]", "ls", Pass, "no verdict"},
		{"rules: [{id: x, verdict: block, reason: r, any: [{}]}]", "ls", Pass, "every command"},
		{"rules: [{id: x, verdict: block, reason: r, any: [{command: ['@nobody']}]}]", "ls", Pass, "no set"},
		{"rules: [{id: x, verdict: block, reason: r, any: [{analysis: magic}]}]", "ls", Pass, "no analysis"},
		{"rules: [{id: X, verdict: block, reason: r, any: [{command: [a]}]}]", "ls", Pass, "small letters"},
		{"rules: [{id: x, verdict: block}]", "ls", Pass, "needs"},
		{"rules: [{id: x, verdikt: block}]", "ls", Pass, "verdikt"},
		{"", "LD_LIBRARY_PATH=/cuda ls", Block, ""},
	}
	for _, s := range steps {
		write(s.text)
		if got := judge(s.command); got != s.want {
			t.Errorf("%s: %q is %v, want %v", s.text, s.command, got, s.want)
		}
		_, err := rules.Classifier()
		if s.wrong == "" && err != nil || s.wrong != "" && (err == nil || !strings.Contains(err.Error(), s.wrong)) {
			t.Errorf("%s: got %v, want %q", s.text, err, s.wrong)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := judge("LD_LIBRARY_PATH=/cuda ls"); got != Block {
		t.Errorf("without the file: %v, want the built-in rules", got)
	}
	write("rules: [")
	if _, err := NewRulesFile(file); err == nil {
		t.Error("a file that is wrong at the start is no error")
	}
}

func TestBuiltInRulesAreSound(t *testing.T) {
	r := Builtin()
	if err := r.check(); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	analysed := map[string]bool{}
	for _, rule := range r.rules {
		if seen[rule.ID] || !idPattern().MatchString(rule.ID) || rule.Reason == "" || len(rule.Any) == 0 {
			t.Errorf("rule %q", rule.ID)
		}
		seen[rule.ID] = true
		for _, m := range rule.Any {
			analysed[m.Analysis] = true
		}
	}
	for _, a := range analyses {
		if !analysed[a] {
			t.Errorf("no rule has the analysis %s", a)
		}
	}
}
