package audit

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func cases(t testing.TB, file string) (list [][2]string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		quoted, verdict, ok := strings.Cut(s.Text(), "\t")
		var command string
		if err := json.Unmarshal([]byte(quoted), &command); !ok || err != nil {
			t.Fatalf("%s: %q: %v", file, s.Text(), err)
		}
		list = append(list, [2]string{command, verdict})
	}
	return list
}

func TestVerdicts(t *testing.T) {
	c := NewClassifier(Builtin())
	for _, file := range []string{"testdata/verdicts.tsv", "testdata/kinds.tsv"} {
		for _, row := range cases(t, file) {
			if j := c.Judge(row[0]); j.Verdict.String() != row[1] {
				t.Errorf("%s: %q\n got %v %s (%s), want %s", file, row[0], j.Verdict, j.Rule, j.Part, row[1])
			}
		}
	}
}
