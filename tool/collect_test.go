package tool

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"
)

// However a stream is cut into writes, its head and its tail are kept, and what
// is missing is counted.
func TestCollector(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, size := range []int{0, 1, keptStream - 1, keptStream, keptStream + 1, 2 * keptStream, 2*keptStream + 1, 5*keptStream + 17} {
		var all []byte
		for len(all) < size {
			all = append(all, []string{"a", "é", "你", "😀", "\n"}[r.Intn(5)]...)
		}
		var c collector
		for rest := all; len(rest) > 0; {
			n := min(1+r.Intn(200000), len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		s := c.result()
		if s.total != int64(len(all)) || s.broken != 0 || !strings.HasPrefix(string(all), s.head) || !strings.HasSuffix(string(all), s.tail) {
			t.Errorf("%d: total %d, broken %d", size, s.total, s.broken)
		}
		if got := utf8.RuneCountInString(s.head+s.tail) + s.gap; got != utf8.RuneCount(all) {
			t.Errorf("%d: %d characters of %d", size, got, utf8.RuneCount(all))
		}
		if len(all) <= 2*keptStream && s.gap != 0 || len(s.head)+len(s.tail) > 3*keptStream {
			t.Errorf("%d: %d and %d kept, %d missing", size, len(s.head), len(s.tail), s.gap)
		}
	}
}

func TestCollectorFollowsTheLastLine(t *testing.T) {
	var c collector
	for _, step := range []struct{ write, want string }{
		{"fir", ""}, {"st\nsec", "first"}, {"ond", "first"}, {"\n\n", "second"}, {"a\nb\nc", "b"}, {strings.Repeat("x", 5000) + "\n", "c" + strings.Repeat("x", lineKept-1)},
	} {
		_, _ = c.Write([]byte(step.write))
		if _, line := c.progress(); line != step.want {
			t.Errorf("after %q: %q", clip(step.write, 20), line)
		}
	}
}

func TestRedactorLeavesNoRest(t *testing.T) {
	r := newRedactor("abcdefgh", "abcdefghijkl", "short", "first line\nsecond line\n")
	for text, want := range map[string]string{
		"x abcdefghijkl y abcdefgh z": "x [redacted] y [redacted] z",
		"short":                       "short",
		"second line and first line":  "[redacted] and [redacted]",
	} {
		if got := r.text(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	s := stream{head: "head abcdefghij", tail: "fghijkl tail", gap: 10}
	s.redact(r)
	if s.head != "head " || s.tail != " tail" || s.gap != 10+10+7 {
		t.Errorf("around a gap: %+v", s)
	}
}

// An error that is none of ours can hold a path of the host.
func TestErrorTextsShowNothingOfTheHost(t *testing.T) {
	err := &fs.PathError{Op: "open", Path: "/srv/secret/place", Err: errors.New("broken")}
	if got := errorText(err); strings.Contains(got, "/srv") || !strings.HasPrefix(got, "Error: ") {
		t.Errorf("got %q", got)
	}
	long := invalid("x", strings.Repeat("é", 5000), "do it")
	if got := errorText(long); utf8.RuneCountInString(got) > maxErrorText || !strings.Contains(got, "error truncated") {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
}

func BenchmarkNearest(b *testing.B) {
	content := string(bytes.Repeat([]byte("some line of code that is like others = value(1)\n"), 80000))
	for b.Loop() {
		nearest(content, "func handler(w http.ResponseWriter) {\n\treturn nil\n}")
	}
}
