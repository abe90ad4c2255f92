package tool

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzMiddle(f *testing.F) {
	f.Add("", 1, 0)
	f.Add(strings.Repeat("é", 100), 60, 7)
	f.Add(strings.Repeat("x", 1100), 1099, 0)
	f.Add(strings.Repeat("x", 200), 37, 99999)
	marker := regexp.MustCompile(`\n\[middle truncated: (\d+) chars skipped\]\n`)
	f.Fuzz(func(t *testing.T, text string, limit, omitted int) {
		if limit < 0 || limit > 1<<20 || omitted < 0 || omitted > 1<<40 || !utf8.ValidString(text) || marker.MatchString(text) {
			return
		}
		n := utf8.RuneCountInString(text)
		cut, skipped := middle(text, limit, omitted, bashMarker)
		if limit == 0 || n <= limit {
			if cut != text || skipped != 0 {
				t.Fatalf("what is within the limit was cut: %q", cut)
			}
			return
		}
		if got := utf8.RuneCountInString(cut); got > limit || !utf8.ValidString(cut) {
			t.Fatalf("%d characters, limit %d: %q", got, limit, cut)
		}
		m := marker.FindStringSubmatchIndex(cut)
		if m == nil {
			if !strings.HasPrefix(text, cut) || utf8.RuneCountInString(cut) != limit {
				t.Fatalf("a plain cut is %q", cut)
			}
			return
		}
		head, tail := cut[:m[0]], cut[m[1]:]
		shown := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || shown+skipped != n+omitted || cut[m[2]:m[3]] != strconv.Itoa(skipped) {
			t.Fatalf("%d shown, %d skipped of %d and %d: %q", shown, skipped, n, omitted, cut)
		}
		if utf8.RuneCountInString(cut) < limit-2 {
			t.Fatalf("only %d of %d characters are used", utf8.RuneCountInString(cut), limit)
		}
	})
}

func FuzzHead(f *testing.F) {
	f.Add("a\nb\nc\n", 3)
	f.Add(strings.Repeat("line é\n", 100), 200)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || limit > 1<<20 || !utf8.ValidString(text) {
			return
		}
		n := utf8.RuneCountInString(text)
		cut, shown := head(text, limit, func(_ string, chars, of int) string { return fmt.Sprintf("\n[%d of %d]", chars, of) })
		if limit == 0 || n <= limit {
			if cut != text || shown != len(text) {
				t.Fatalf("what is within the limit was cut: %q", cut)
			}
			return
		}
		if utf8.RuneCountInString(cut) > limit || !utf8.ValidString(cut) || !strings.HasPrefix(cut, text[:shown]) {
			t.Fatalf("limit %d: %q, %d shown", limit, cut, shown)
		}
		want := fmt.Sprintf("[%d of %d]", utf8.RuneCountInString(text[:shown]), n)
		if limit > 100 && !strings.HasSuffix(cut, want) {
			t.Fatalf("it does not end with %q: %q", want, cut)
		}
	})
}
