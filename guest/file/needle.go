package file

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// needle is a text that matches of an expression contain, looked for before
// the expression is tried: most files and lines do not hold it, and looking
// for a text is many times faster. It is never empty.
type needle struct {
	text string
	// fold says that ASCII letters match in both cases; the text is then in
	// lower case and has no other letters.
	fold bool
	// rare and rareUpper are the two cases of the byte of text that is least
	// common, and at is its place in it.
	rare, rareUpper byte
	at              int
}

// maxNeedles bounds how many texts are looked for at once.
const maxNeedles = 8

// required returns texts of which every match contains at least one. It errs
// on the side of none, which says nothing.
func required(re *syntax.Regexp) []needle {
	set := literals(re)
	for i := range set {
		set[i].prepare()
	}
	return set
}

// literals returns texts of which every match contains at least one; none
// where there are no such texts, or too many.
func literals(re *syntax.Regexp) []needle {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []needle
		for _, sub := range re.Sub {
			if set := literals(sub); shortest(set) > shortest(best) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all []needle
		for _, sub := range re.Sub {
			set := literals(sub)
			if len(set) == 0 || len(all)+len(set) > maxNeedles {
				return nil
			}
			all = append(all, set...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest text of a set, by which its worth is
// judged.
func shortest(set []needle) int {
	n := 0
	for i, s := range set {
		if i == 0 || len(s.text) < n {
			n = len(s.text)
		}
	}
	return n
}

// prepare chooses the byte by which the text is looked for.
func (n *needle) prepare() {
	for i := range len(n.text) {
		if i == 0 || commonness(n.text[i]) < commonness(n.rare) {
			n.rare, n.at = n.text[i], i
		}
	}
	n.rareUpper = n.rare
	if n.fold && 'a' <= n.rare && n.rare <= 'z' {
		n.rareUpper = n.rare - 'a' + 'A'
	}
}

// literal is the longest part of a literal that can be looked for. It is cut
// where folding goes beyond ASCII: K and S have a third form there, and other
// letters any.
func literal(re *syntax.Regexp) []needle {
	text := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			return nil // U+FFFD also matches bytes that are not UTF-8
		}
		return []needle{{text: text}}
	}
	longest := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf || r == 'k' || r == 'K' || r == 's' || r == 'S'
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if longest == "" {
		return nil
	}
	return []needle{{text: strings.ToLower(longest), fold: true}}
}

// commonness orders bytes by how often they are found in text, roughly.
func commonness(b byte) int {
	const order = "zqjxkvbywgpfmucldrhsnioate \n" // rare to common, of English text
	if 'A' <= b && b <= 'Z' {
		return 50
	}
	if i := strings.IndexByte(order, b); i >= 0 {
		return 100 + i
	}
	switch {
	case b >= utf8.RuneSelf:
		return 20
	case '0' <= b && b <= '9':
		return 60
	case strings.IndexByte("_-./(),:;=\"'", b) >= 0:
		return 80
	}
	return 10
}

// in reports where the needle is in b, -1 for nowhere.
func (n *needle) in(b []byte) int {
	if !n.fold {
		return bytes.Index(b, []byte(n.text))
	}
	if n.rare == n.rareUpper {
		return n.scan(b, func(from int) int { return next(b, from, n.rare) })
	}
	// Two cursors, one for each case, each moving over b once.
	lower, upper := next(b, n.at, n.rare), next(b, n.at, n.rareUpper)
	return n.scan(b, func(from int) int {
		if lower >= 0 && lower < from {
			lower = next(b, from, n.rare)
		}
		if upper >= 0 && upper < from {
			upper = next(b, from, n.rareUpper)
		}
		switch {
		case lower < 0:
			return upper
		case upper < 0:
			return lower
		}
		return min(lower, upper)
	})
}

func next(b []byte, from int, c byte) int {
	if from > len(b) {
		return -1
	}
	i := bytes.IndexByte(b[from:], c)
	if i < 0 {
		return -1
	}
	return from + i
}

// scan tries the places that find returns.
func (n *needle) scan(b []byte, find func(from int) int) int {
	for from := n.at; ; {
		i := find(from)
		if i < 0 {
			return -1
		}
		start := i - n.at
		if start+len(n.text) > len(b) {
			return -1
		}
		if equalFold(b[start:start+len(n.text)], n.text) {
			return start
		}
		from = i + 1
	}
}

// equalFold compares with a text in lower case, for ASCII letters alone.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
