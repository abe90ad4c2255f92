package escape

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Case is one row.
type Case struct {
	// ID names the row.
	ID string
	// Snippet is run by bash.
	Snippet string
	// Expect must hold, all of it.
	Expect []Expectation
	// Why says what the row is about.
	Why string
}

// maxRow bounds one row, in bytes.
const maxRow = 1 << 20

// ParseCases reads rows of four columns: id, snippet, expectations, reason. A
// row that is not understood in full is an error: a test that is not run must
// not look like one that passed.
func ParseCases(r io.Reader) ([]Case, error) {
	var cases []Case
	seen := map[string]bool{}
	rows := bufio.NewScanner(r)
	rows.Buffer(nil, maxRow)
	for n := 1; rows.Scan(); n++ {
		c, err := parseRow(rows.Text())
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", n, err)
		}
		if seen[c.ID] {
			return nil, fmt.Errorf("row %d: the id %q is there twice", n, c.ID)
		}
		seen[c.ID] = true
		cases = append(cases, c)
	}
	return cases, rows.Err()
}

func parseRow(row string) (Case, error) {
	columns := strings.Split(row, "\t")
	if len(columns) != 4 {
		return Case{}, fmt.Errorf("%d columns where there must be 4", len(columns))
	}
	c := Case{ID: columns[0], Why: columns[3]}
	if c.ID == "" {
		return Case{}, fmt.Errorf("the id is empty")
	}
	if err := json.Unmarshal([]byte(columns[1]), &c.Snippet); err != nil {
		return Case{}, fmt.Errorf("%s: the snippet: %w", c.ID, err)
	}
	var err error
	if c.Expect, err = ParseExpectations(columns[2]); err != nil {
		return Case{}, fmt.Errorf("%s: %w", c.ID, err)
	}
	return c, nil
}

// Find returns the case's first expectation of a kind.
func (c Case) Find(k ExpectKind) (Expectation, bool) {
	i := slices.IndexFunc(c.Expect, func(e Expectation) bool { return e.Kind == k })
	if i < 0 {
		return Expectation{}, false
	}
	return c.Expect[i], true
}
