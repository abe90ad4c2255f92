package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
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
	// line decides about one line.
	line *regexp.Regexp
	// block finds, in many lines at once, the first place at which a line
	// can match; nil where lines must be tried one by one.
	block *regexp.Regexp
	// needles are texts of which every match contains one; none says
	// nothing.
	needles []needle
	// endsLine says that the expression has a "$", which does not see the CR
	// of a CRLF as the end of a line.
	endsLine bool
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
	if _, err := regexp.Compile(expr); err != nil {
		return nil, refuse(provider.Invalid, op, p, "the expression is not valid RE2: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "correct it, or ask for a literal search")
	}
	if !o.CaseSensitive {
		expr = "(?i:" + expr + ")"
	}
	line, err := regexp.Compile(expr)
	tree, parseErr := syntax.Parse("(?m:"+expr+")", syntax.Perl)
	if err != nil || parseErr != nil {
		return nil, refuse(provider.Invalid, op, p, "the expression is too complex", "give a simpler one")
	}
	s := &searcher{line: line, needles: required(tree.Simplify())}
	absolute := false
	walkTree(tree, func(re *syntax.Regexp) {
		absolute = absolute || re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText
		s.endsLine = s.endsLine || re.Op == syntax.OpEndLine
	})
	// What looks for the ends of the text finds them in every line alone.
	if !absolute {
		s.block, err = regexp.Compile("(?m:" + expr + ")")
		if err != nil {
			s.block = nil
		}
	}
	return s, nil
}

func walkTree(re *syntax.Regexp, visit func(*syntax.Regexp)) {
	visit(re)
	for _, sub := range re.Sub {
		walkTree(sub, visit)
	}
}

// found is what one file holds.
type found struct {
	lines  []provider.Match
	binary bool
}

// search reads a file in blocks of whole lines. A file with a NUL byte is
// binary, and then no line of it counts; it is read no further than needed.
// buf is room for searchBlock bytes.
func (s *searcher) search(ctx context.Context, r io.Reader, most int, buf []byte) (found, error) {
	var out found
	line, kept := 1, 0
	skipping := false // the rest of a line longer than the buffer
	for {
		if err := ctx.Err(); err != nil {
			return found{}, err
		}
		n, err := r.Read(buf[kept:])
		end := errors.Is(err, io.EOF)
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
		line = s.lines(block[:whole], line, most, &out)
		if end || len(out.lines) >= most {
			return out, nil
		}
		kept = copy(buf, rest)
	}
}

// fileReader reads a regular file by its descriptor, with as few system calls
// as can be: a read that reaches the known end says so at once.
type fileReader struct {
	fd   int
	size int64 // as it was when the file was opened
	at   int64
}

func (r *fileReader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(r.fd, p)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		r.at += int64(n)
		if n == 0 || n < len(p) && r.at >= r.size {
			return n, io.EOF
		}
		return n, nil
	}
}

// lines searches whole lines and returns the number of the line behind them.
//
// A line that matches by itself is also found in the block, where the search
// sees line borders as the ends of text: at that place or, over a border that
// a line does not have, at one before. So what lies before the first place
// found cannot match, and only the line there is tried.
func (s *searcher) lines(b []byte, line, most int, out *found) int {
	c := candidates{s: s, b: b, byLine: s.block == nil || s.endsLine && (bytes.Contains(b, []byte("\r\n")) || bytes.HasSuffix(b, []byte("\r")))}
	counted := 0
	for off := 0; off < len(b); {
		at := c.next(off)
		if at > len(b) || at == len(b) && b[at-1] == '\n' {
			break // nothing, or in the empty text behind the last line
		}
		start := bytes.LastIndexByte(b[:at], '\n') + 1
		end := len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			end = at + i
		}
		text := bytes.TrimSuffix(b[start:end], []byte{'\r'})
		if s.line.Match(text) {
			line += bytes.Count(b[counted:start], newline)
			counted = start
			out.lines = append(out.lines, provider.Match{Line: line, Text: show(text)})
			if len(out.lines) >= most {
				return line
			}
		}
		off = end + 1
	}
	return line + bytes.Count(b[counted:], newline)
}

// candidates finds the places in a block at which a line may match.
type candidates struct {
	s      *searcher
	b      []byte
	byLine bool
	// ahead holds where each needle is next, so that one which is rare is
	// not looked for again and again because of another that is not.
	ahead [maxNeedles]int
	known [maxNeedles]bool
}

// next returns the first candidate from off on, more than len(b) for none.
func (c *candidates) next(off int) int {
	if len(c.s.needles) == 0 {
		if c.byLine {
			return off
		}
		loc := c.s.block.FindIndex(c.b[off:])
		if loc == nil {
			return len(c.b) + 1
		}
		return off + loc[0]
	}
	first := len(c.b) + 1
	for i := range c.s.needles {
		if !c.known[i] || c.ahead[i] < off {
			c.known[i] = true
			if at := c.s.needles[i].in(c.b[off:]); at >= 0 {
				c.ahead[i] = off + at
			} else {
				c.ahead[i] = len(c.b) + 1
			}
		}
		first = min(first, c.ahead[i])
	}
	return first
}

var newline = []byte{'\n'}

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
