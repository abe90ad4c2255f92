package filesuite

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testReplace(e *env) {
	for _, c := range []struct {
		name, content string
		r             provider.Replacement
		want          string
		lines         []int
	}{
		{"one", "a\nb\nc\n", provider.Replacement{Old: "b", New: "B"}, "a\nB\nc\n", []int{2}},
		{"crlf", "a\r\nb\r\n", provider.Replacement{Old: "b", New: "B"}, "a\r\nB\r\n", []int{2}},
		{"bom", "\ufeffa b\r\n", provider.Replacement{Old: "a", New: "c"}, "\ufeffc b\r\n", []int{1}},
		{"binary", "\x00x\xff\x00y", provider.Replacement{Old: "\xff\x00", New: "\x00\xfe"}, "\x00x\x00\xfey", []int{1}},
		{"several lines", "a\nb\nc\nd\n", provider.Replacement{Old: "b\nc\n", New: ""}, "a\nd\n", []int{2}},
		{"all", "x\ny x\n\nx", provider.Replacement{Old: "x", New: "xx", All: true}, "xx\ny xx\n\nxx", []int{1, 2, 4}},
		{"not overlapping", "aaaa", provider.Replacement{Old: "aa", New: "b", All: true}, "bb", []int{1, 1}},
		{"same", "a", provider.Replacement{Old: "a", New: "a"}, "a", []int{1}},
		{"whole", "a", provider.Replacement{Old: "a", New: ""}, "", []int{1}},
	} {
		p := e.put("f", c.content)
		res, err := e.s.ReplaceInFile(e.ctx, p, c.r)
		if err != nil {
			e.Errorf("%s: %v", c.name, err)
			continue
		}
		if res.Count != len(c.lines) || !slices.Equal(res.Lines, c.lines) {
			e.Errorf("%s: want lines %v, got %+v", c.name, c.lines, res)
		}
		e.wantFile(p, c.want)
	}
}

func testReplaceRefuses(e *env) {
	const content = "one\ntwo two\n"
	p := e.put("f", content)
	e.sh("cd " + e.dir + "; mkdir dir; mkfifo fifo; ln -s nowhere/deep dangling")
	for _, c := range []struct {
		name, path string
		r          provider.Replacement
		kind       provider.Kind
	}{
		{"no match", p, provider.Replacement{Old: "three", New: "x"}, provider.NotFound},
		{"no match with all", p, provider.Replacement{Old: "three", New: "x", All: true}, provider.NotFound},
		{"several matches", p, provider.Replacement{Old: "two", New: "x"}, provider.Conflict},
		{"nothing to find", p, provider.Replacement{Old: "", New: "x"}, provider.Invalid},
		{"a missing file", e.path("missing/f"), provider.Replacement{Old: "a", New: "x"}, provider.NotFound},
		{"a dangling link", e.path("dangling"), provider.Replacement{Old: "a", New: "x"}, provider.NotFound},
		{"a directory", e.path("dir"), provider.Replacement{Old: "a", New: "x"}, provider.Invalid},
		{"a FIFO", e.path("fifo"), provider.Replacement{Old: "a", New: "x"}, provider.Invalid},
	} {
		_, err := e.s.ReplaceInFile(e.ctx, c.path, c.r)
		e.wantKind(c.name, err, c.kind)
	}
	_, err := e.s.ReplaceInFile(e.ctx, p, provider.Replacement{Old: "two", New: "x"})
	if err == nil || !strings.Contains(err.Error(), "2") {
		e.Errorf("several matches: the error should name their number and lines: %v", err)
	}
	e.wantFile(p, content)
	if got := e.sh("cd " + e.dir + "; find . | sort | tr '\\n' ' '"); got != ". ./dangling ./dir ./f ./fifo " {
		e.Errorf("refused replacements left %q", got)
	}
}

// testReplaceConcurrent demands that no write of the file calls is lost.
func testReplaceConcurrent(e *env) {
	const n = 12
	var start strings.Builder
	for i := range n {
		fmt.Fprintf(&start, "<%d>\n", i)
	}
	p := e.put("f", start.String())
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := e.s.ReplaceInFile(e.ctx, p, provider.Replacement{Old: fmt.Sprintf("<%d>", i), New: fmt.Sprintf("[%d]", i)}); err != nil {
				e.Errorf("replace %d: %v", i, err)
			}
		})
		wg.Go(func() {
			if err := e.s.WriteFile(e.ctx, p, fmt.Appendf(nil, "(%d)\n", i), provider.Append); err != nil {
				e.Errorf("append %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	got, err := e.s.ReadFile(e.ctx, p, provider.LineRange{})
	if err != nil {
		e.Fatal(err)
	}
	for i := range n {
		for _, want := range []string{fmt.Sprintf("[%d]\n", i), fmt.Sprintf("(%d)\n", i)} {
			if !strings.Contains(string(got), want) {
				e.Errorf("%q is lost", want)
			}
		}
	}
}
