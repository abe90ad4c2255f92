package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/provider"
)

const (
	// maxLine is where a reported line is cut, in bytes.
	maxLine = 2000
	// searchBlock is how much of a file is searched at once, and the longest
	// line that is searched whole.
	searchBlock = 256 << 10
	// maxExpression bounds an expression, in bytes.
	maxExpression = 16 << 10
)

// searcher finds lines in one file. It is safe for concurrent use.
type searcher struct {
	re *regexp.Regexp
}

// newSearcher compiles the expression. Kind: invalid.
func newSearcher(op, p, pattern string, o provider.GrepOptions) (*searcher, error) {
	switch {
	case pattern == "":
		return nil, refuse(provider.Invalid, op, p, "the expression is empty", "give the text or the RE2 expression to look for")
	case len(pattern) > maxExpression:
		return nil, refuse(provider.Invalid, op, p, "the expression is longer than 16 KiB", "give a shorter one")
	}
	expr := pattern
	if o.Literal {
		expr = regexp.QuoteMeta(pattern)
	}
	if !o.CaseSensitive {
		expr = "(?i:" + expr + ")"
	}
	if _, err := regexp.Compile(pattern); err != nil && !o.Literal {
		return nil, refuse(provider.Invalid, op, p, "the expression is not valid RE2: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "correct it, or ask for a literal search")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, refuse(provider.Invalid, op, p, "the expression is too complex", "give a simpler one")
	}
	return &searcher{re: re}, nil
}

// found is what one file holds.
type found struct {
	lines  []provider.Match
	binary bool
}

// search reads a file in blocks of whole lines. A file with a NUL byte is
// binary, and then no line of it counts; it is read no further than needed.
func (s *searcher) search(ctx context.Context, file *os.File, most int) (found, error) {
	var out found
	buf := make([]byte, searchBlock)
	line, kept := 1, 0
	skipping := false // the rest of a line longer than the buffer
	for {
		if err := ctx.Err(); err != nil {
			return found{}, err
		}
		n, err := io.ReadFull(file, buf[kept:])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return found{}, err
		}
		block := buf[:kept+n]
		if bytes.IndexByte(block[kept:], 0) >= 0 {
			return found{binary: true}, nil
		}
		if skipping {
			i := bytes.IndexByte(block, '\n')
			if i < 0 {
				if end {
					return out, nil
				}
				kept = 0
				continue
			}
			block, skipping = block[i+1:], false
			line++
		}
		whole := bytes.LastIndexByte(block, '\n') + 1
		rest := block[whole:]
		if end {
			whole, rest = len(block), nil
		} else if whole == 0 && len(block) == len(buf) {
			whole, rest, skipping = len(block), nil, true
		}
		line = s.block(block[:whole], line, most, &out)
		if skipping {
			line-- // its end is still to come
		}
		if end || len(out.lines) >= most {
			return out, nil
		}
		kept = copy(buf, rest)
	}
}

// block searches whole lines and returns the number of the line behind them.
func (s *searcher) block(b []byte, line, most int, out *found) int {
	for len(b) > 0 {
		text, rest, _ := bytes.Cut(b, []byte{'\n'})
		text = bytes.TrimSuffix(text, []byte{'\r'})
		if s.re.Match(text) {
			out.lines = append(out.lines, provider.Match{Line: line, Text: show(text)})
			if len(out.lines) >= most {
				return line
			}
		}
		b = rest
		line++
	}
	return line
}

// show cuts a line at a rune border and replaces what is not UTF-8.
func show(line []byte) string {
	if len(line) > maxLine {
		cut := maxLine
		for cut > maxLine-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut]
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
