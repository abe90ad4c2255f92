package file

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// slow finds lines in the plainest way.
func slow(t *testing.T, pattern, content string, o provider.GrepOptions) []provider.Match {
	t.Helper()
	expr := pattern
	if o.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if !o.CaseSensitive {
		expr = "(?i:" + expr + ")"
	}
	re := regexp.MustCompile(expr)
	var out []provider.Match
	lines := strings.Split(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if re.MatchString(line) {
			out = append(out, provider.Match{Line: i + 1, Text: show([]byte(line))})
		}
	}
	return out
}

// FuzzSearch compares the fast search with the plain one, over blocks of
// several sizes.
func FuzzSearch(f *testing.F) {
	for _, s := range []struct {
		pattern, content string
		flags            byte
	}{
		{"todo", "a TODO\nb\ntodo", 0}, {"todo", "a TODO\nb\ntodo", 1}, {"a.b", "a.b axb\r\naxb\r\n", 2}, {"x$", "x\r\nx\ny\n", 0}, {"^$", "a\n\nb\r\n\r\n", 0},
		{`\Ax|y\z`, "x\nzy\nyx", 0}, {"foo|bar|k", "FOO\nbaR\n\u212a\n", 0}, {"ſ", "s\nS\nſ\n", 0}, {`a\s+b`, "a\nb\na b\n", 0}, {"(ab)+c{2,}", "ababcc\nabc\n", 0},
		{"\ufffd", "\xff\n\ufffd\n", 1}, {"(?-i)Ab", "ab\nAb\n", 0}, {"a\nb", "a\nb\n", 0}, {"[^x]", "\n\nx\ny", 0}, {"(?s).", "\na", 0}, {`\b`, "\n \na", 0}, {"", "a\n", 0},
		{"i̇|strasse|ß", "İ\nSTRASSE\nẞ\n", 0}, {"x*", "\n\n", 0}, {"(a|)(b|cd)", "cd\nb\na\n", 0},
	} {
		f.Add(s.pattern, s.content, s.flags)
	}
	f.Fuzz(func(t *testing.T, pattern, content string, flags byte) {
		if len(content) > 2000 || strings.ContainsRune(content, 0) {
			return
		}
		o := provider.GrepOptions{CaseSensitive: flags&1 != 0, Literal: flags&2 != 0}
		s, err := newSearcher("grep", "/x", pattern, o)
		if err != nil {
			if provider.KindOf(err) != provider.Invalid {
				t.Fatal(err)
			}
			return
		}
		want := slow(t, pattern, content, o)
		longest := 0
		for line := range strings.SplitSeq(content, "\n") {
			longest = max(longest, len(line)+1)
		}
		for _, size := range []int{4096, longest + 1} {
			got, err := s.search(t.Context(), iotest.OneByteReader(strings.NewReader(content)), 1<<20, make([]byte, size))
			if size == 4096 {
				got, err = s.search(t.Context(), strings.NewReader(content), 1<<20, make([]byte, size))
			}
			if err != nil || got.binary || !slices.Equal(got.lines, want) {
				t.Fatalf("%q in %q, %+v, blocks of %d: want %v, got %v, %v", pattern, content, o, size, want, got.lines, err)
			}
		}
	})
}

func TestSearchStops(t *testing.T) {
	s, err := newSearcher("grep", "/x", "hit", provider.GrepOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.search(t.Context(), strings.NewReader(strings.Repeat("hit\n", 100)), 3, make([]byte, searchBlock))
	if err != nil || len(got.lines) != 3 || got.lines[2].Line != 3 {
		t.Errorf("want 3 lines, got %+v, %v", got, err)
	}
	// A line longer than a block is searched in its beginning, and the lines
	// behind it keep their numbers.
	text := strings.Repeat("y", 100) + "hit\nhit\n" + strings.Repeat("z", 64) + "\nhit"
	got, err = s.search(t.Context(), strings.NewReader(text), 9, make([]byte, 32))
	if err != nil || len(got.lines) != 2 || got.lines[0].Line != 2 || got.lines[1].Line != 4 {
		t.Errorf("want lines 2 and 4, got %+v, %v", got, err)
	}
}

func TestShow(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb":                        "a\uFFFDb",
		strings.Repeat("x", 3000):       strings.Repeat("x", 2000),
		"x" + strings.Repeat("é", 3000): "x" + strings.Repeat("é", 999),
	} {
		if got := show([]byte(in)); got != want {
			t.Errorf("%d bytes: want %d, got %d", len(in), len(want), len(got))
		}
	}
}

func TestRequired(t *testing.T) {
	for pattern, want := range map[string]string{
		"todo": "todo", "TODO|fixme": "todo fixme", "a|": "", "x*foo+": "fo", "(abc|abd)z": "ab", `\d+`: "", "task": "ta", "kiss": "i", "[a-z]needle[0-9]": "needle", "foo.*bars": "foo", "(?:foo){2}": "foo", "(?:foo){0,2}": "",
	} {
		s, err := newSearcher("grep", "/x", pattern, provider.GrepOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range s.needles {
			got = append(got, n.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: want %q, got %q", pattern, want, got)
		}
	}
}

// FuzzLines compares the reading of a range of lines with cutting the whole.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\nc", 2, 2)
	f.Add("a\n", 2, 0)
	f.Add("\n\n\n", 0, 2)
	f.Fuzz(func(t *testing.T, content string, start, end int) {
		later := time.Now().Add(time.Minute)
		r := provider.LineRange{Start: start, End: end}
		if CheckLines("read", "/x", r) != nil {
			if start >= 0 && end >= 0 && (end == 0 || start <= end) {
				t.Fatalf("%+v is refused", r)
			}
			return
		}
		lines := strings.SplitAfter(content, "\n")
		first, last := max(start, 1)-1, len(lines)
		if end != 0 {
			last = min(end, len(lines))
		}
		want := ""
		if first < last {
			want = strings.Join(lines[first:last], "")
		}
		for _, reader := range []func() *bytes.Reader{func() *bytes.Reader { return bytes.NewReader([]byte(content)) }} {
			got, err := readLines(t.Context(), reader(), r, 1<<20, 0, later)
			if err != nil || string(got) != want {
				t.Fatalf("%+v of %q: want %q, got %q, %v", r, content, want, got, err)
			}
			got, err = readLines(t.Context(), iotest.OneByteReader(reader()), r, 1<<20, 5, later)
			if err != nil || string(got) != want {
				t.Fatalf("%+v of %q by bytes: want %q, got %q, %v", r, content, want, got, err)
			}
			if _, err := readLines(t.Context(), reader(), r, int64(len(want))-1, 0, later); len(want) > 0 && err == nil {
				t.Fatalf("%+v of %q: over the limit, and no error", r, content)
			}
		}
	})
}
