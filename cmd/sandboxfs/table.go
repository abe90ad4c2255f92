//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table prints rows in aligned columns. On a terminal it takes no more than
// its width: the widest columns are cut. Elsewhere nothing is cut. What could
// move the cursor is shown escaped, since some of it is an agent's.
type table struct {
	out    io.Writer
	header []string
	rows   [][]string
	// states is the column that is coloured by its text; -1 for none.
	states int
}

func newTable(out io.Writer, header ...string) *table {
	t := &table{out: out, header: header, states: -1}
	for i, name := range header {
		if name == "STATE" {
			t.states = i
		}
	}
	return t
}

// row adds a row of as many cells as the header has.
func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = printable(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

const (
	columnGap = 2
	// minColumn is what is left of a cut column.
	minColumn = 6
)

// flush prints the table.
func (t *table) flush() error {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if f := fileOf(t.out); f != nil && isTerminal(f) {
		fit(widths, widthOf(t.out))
	}
	s := styleOf(t.out)
	var b strings.Builder
	t.line(&b, t.header, widths, func(_ int, text string) string { return s.bold(text) })
	for _, row := range t.rows {
		t.line(&b, row, widths, func(column int, text string) string {
			if column == t.states {
				return s.state(text)
			}
			return text
		})
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}

func (t *table) line(b *strings.Builder, cells []string, widths []int, colour func(int, string) string) {
	for i, cell := range cells {
		cell = cut(cell, widths[i])
		b.WriteString(colour(i, cell))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+columnGap))
		}
	}
	b.WriteByte('\n')
}

// fit takes columns away from the widest until a row fits, or nothing more can
// be taken.
func fit(widths []int, width int) {
	sum := columnGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	for ; sum > width; sum-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			return
		}
		widths[widest]--
	}
}

// cut shortens a text to n runes, and shows that it did.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// printable escapes what a terminal would obey or not show.
func printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
		} else {
			q := fmt.Sprintf("%q", string(r))
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
