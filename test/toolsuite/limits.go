package toolsuite

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

// bounds demands that no answer of bash is longer than its limit, that what is
// shown is the head and the tail, and that the marker counts right.
func bounds(e *env) {
	marker := regexp.MustCompile(`\n\[middle truncated: (\d+) chars skipped\]\n`)
	for _, limit := range []int{20000, 60, 1} {
		l := tool.DefaultLimits()
		l.Bash = limit
		s := e.tools(tool.Options{Limits: &l})
		for name, c := range map[string]struct {
			command string
			text    string
		}{
			"at the limit":   {fmt.Sprintf("printf %%%ds x | tr ' ' é", limit), strings.Repeat("é", limit-1) + "x"},
			"one over":       {fmt.Sprintf("printf %%%ds x | tr ' ' a", limit+1), strings.Repeat("a", limit) + "x"},
			"many":           {"seq -w 1 30000", ""},
			"wide":           {"for ((i = 0; i < 3000; i++)); do printf '你好-%05d' $i; done", ""},
			"standard error": {"seq 1 20000; seq 1 20000 >&2; exit 7", ""},
		} {
			if strings.Contains(c.command, "tr ' ' é") && limit > 0 {
				c.command = fmt.Sprintf("printf 'é%%.0s' $(seq 1 %d); printf x", limit-1)
				if limit == 1 {
					c.command = "printf x"
				}
			}
			r := e.bash(s, c.command)
			n := utf8.RuneCountInString(r.Text())
			if n > limit {
				e.Errorf("limit %d, %s: the answer has %d characters", limit, name, n)
			}
			if r.Truncated != (name != "at the limit") {
				e.Errorf("limit %d, %s: truncated is %v", limit, name, r.Truncated)
			}
			if name == "at the limit" {
				e.wantText(tool.Answer{Text: r.Text()}, c.text)
				continue
			}
			m := marker.FindStringSubmatchIndex(r.Output)
			if m == nil {
				if limit >= 1000 {
					e.Errorf("limit %d, %s: no marker in %q", limit, name, clip(r.Output))
				}
				continue
			}
			whole := e.kept(r)
			var skipped int
			fmt.Sscan(r.Output[m[2]:m[3]], &skipped)
			head, tail := r.Output[:m[0]], r.Output[m[1]:]
			shown := utf8.RuneCountInString(head) + utf8.RuneCountInString(tail)
			if !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) || shown+skipped != utf8.RuneCountInString(whole) {
				e.Errorf("limit %d, %s: %d shown and %d skipped of %d, head %q, tail %q", limit, name, shown, skipped, utf8.RuneCountInString(whole), clip(head), clip(tail))
			}
			if name == "standard error" && !strings.Contains(r.Text(), "Exit Code: 7") {
				e.Errorf("limit %d: the status is not said: %q", limit, clip(r.Text()))
			}
		}
	}
}

// kept reads the file that has all of an output.
func (e *env) kept(r *tool.BashResult) string {
	e.Helper()
	if r.OutputFile == "" {
		e.Errorf("the answer names no file: %q", clip(r.Text()))
		return ""
	}
	b, err := e.sandbox().ReadFile(e.ctx, r.OutputFile, provider.LineRange{})
	if err != nil {
		e.Errorf("the kept output: %v", err)
	}
	return string(b)
}

// keptOutput demands that what was cut can be read with the tools that an agent
// has, that a flood is bounded, and that nobody stumbles over the file.
func keptOutput(e *env) {
	s := e.tools(tool.Options{})
	r := e.bash(s, "seq 1 100000")
	if !r.Truncated || !strings.Contains(r.Text(), r.OutputFile) || r.OutputFile == "" {
		e.Fatalf("the answer names no file: %q", clip(r.Text()))
	}
	a := e.ok(s, tool.NameReadFile, map[string]any{"path": r.OutputFile, "start_line": 50000, "end_line": 50001})
	e.wantText(a, "50000\n50001")
	e.wantContains(e.ok(s, tool.NameGrep, map[string]any{"path": r.OutputFile, "pattern": "^77777$"}), ":77777: 77777")

	e.put(mapping.Workspace+"/mine.txt", "x")
	e.wantText(e.ok(s, tool.NameLs, map[string]any{"path": mapping.Workspace}), mapping.Workspace+"/mine.txt")
	e.wantContains(e.ok(s, tool.NameGlob, map[string]any{"path": mapping.Workspace, "pattern": "**/*.txt"}), "Found 1 path")
	if git := e.bash(s, "command -v git > /dev/null || exit 77; git init -q . && git status --porcelain"); git.ExitCode != 77 && git.Output != "?? mine.txt\n" {
		e.Errorf("git sees more than what is the agent's: %q", git.Text())
	}

	flood := e.bash(s, "yes 0123456789 | head -c 20000000; yes error | head -c 20000000 >&2")
	if flood.StdoutBytes != 20000000 || flood.StderrBytes != 20000000 || !flood.Truncated {
		e.Errorf("a flood: %+v", flood)
	}
	if n := len(e.kept(flood)); n > 6<<20 {
		e.Errorf("%d bytes of a flood were kept", n)
	}
	m := regexp.MustCompile(`(\d+) chars skipped`).FindStringSubmatch(flood.Output)
	if m == nil {
		e.Fatalf("no marker: %q", clip(flood.Output))
	}
	var skipped int
	fmt.Sscan(m[1], &skipped)
	head, tail, _ := strings.Cut(flood.Output, "\n["+"middle truncated: "+m[1]+" chars skipped]\n")
	if want := 40000000 + len("Std Error:\n"); skipped+len(head)+len(tail) < want || skipped+len(head)+len(tail) > want+1 {
		e.Errorf("%d skipped, %d shown, of %d", skipped, len(head)+len(tail), want)
	}
}

// keptOutputsAreFew demands that the files do not pile up, and that it is the
// old ones that go.
func keptOutputsAreFew(e *env) {
	s := e.tools(tool.Options{})
	var last *tool.BashResult
	for range 15 {
		last = e.bash(s, "seq 1 10000")
	}
	list, err := e.sandbox().ListDir(e.ctx, last.OutputFile[:strings.LastIndex(last.OutputFile, "/")], provider.ListOptions{Depth: 1})
	if err != nil {
		e.Fatal(err)
	}
	if n := len(list.Entries); n != 10 || list.Entries[n-1].Path != last.OutputFile {
		e.Errorf("%d files are kept; the last is %v and should be %s", n, list.Entries[max(n-1, 0)], last.OutputFile)
	}
}

// noLimit demands that 0 cuts nothing.
func noLimit(e *env) {
	s := e.tools(tool.Options{Limits: &tool.Limits{}})
	r := e.bash(s, "seq 1 30000")
	if r.Truncated || strings.Count(r.Output, "\n") != 30000 {
		e.Errorf("cut without a limit: %q", clip(r.Output))
	}
	e.ok(s, tool.NameWriteFile, map[string]any{"path": "big", "content": strings.Repeat("x", 300000)})
	if a := e.ok(s, tool.NameReadFile, map[string]any{"path": "big"}); len(a.Text) != 300000 {
		e.Errorf("%d characters were read", len(a.Text))
	}
}

// readIsBounded demands the head of a long file, and that reading on where the
// answer says yields all of it.
func readIsBounded(e *env) {
	s := e.tools(tool.Options{})
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "line %d é\n", i+1)
	}
	path := mapping.Workspace + "/long.txt"
	e.put(path, b.String())
	var all strings.Builder
	for at := 1; at != 0; {
		a := e.ok(s, tool.NameReadFile, map[string]any{"path": path, "start_line": at})
		r := a.Result.(*tool.ReadFileResult)
		if n := utf8.RuneCountInString(a.Text); n > 50000 {
			e.Fatalf("the answer has %d characters", n)
		}
		if r.Truncated {
			e.wantContains(a, "[truncated: showing first ", " chars", fmt.Sprintf("start_line=%d", r.NextLine))
		}
		if r.Truncated != (r.NextLine != 0) || r.NextLine != 0 && r.NextLine <= at {
			e.Fatalf("truncated %v, next line %d after %d", r.Truncated, r.NextLine, at)
		}
		all.WriteString(r.Content)
		at = r.NextLine
	}
	if all.String() != strings.TrimSuffix(b.String(), "\n") && all.String() != b.String() {
		e.Errorf("the parts are not the whole: %d bytes, not %d", all.Len(), b.Len())
	}
	e.put(path, strings.Repeat("é", 50000))
	if a := e.ok(s, tool.NameReadFile, map[string]any{"path": path}); a.Text != strings.Repeat("é", 50000) {
		e.Errorf("cut at the limit: %q", clip(a.Text))
	}
	e.put(path, strings.Repeat("é", 50001))
	a := e.ok(s, tool.NameReadFile, map[string]any{"path": path})
	if n := utf8.RuneCountInString(a.Text); n > 50000 {
		e.Errorf("one over the limit: %d characters", n)
	}
	e.wantContains(a, " of 50001 chars", "Line 1 is longer than what can be shown")
	if r := a.Result.(*tool.ReadFileResult); r.NextLine != 2 {
		e.Errorf("behind a line that is too long the next is %d", r.NextLine)
	}
}

// lsIsBounded demands the head of a long listing, in whole lines.
func lsIsBounded(e *env) {
	s := e.tools(tool.Options{})
	if r := e.bash(s, "mkdir many && cd many && seq -f 'a-file-with-a-name-%05g' 1 2000 | xargs touch"); r.ExitCode != 0 {
		e.Fatal(r.Text())
	}
	a := e.ok(s, tool.NameLs, map[string]any{"path": mapping.Workspace + "/many"})
	r := a.Result.(*tool.LsResult)
	if n := utf8.RuneCountInString(a.Text); n > 20000 || n < 19000 || !r.Truncated {
		e.Errorf("%d characters, truncated %v", n, r.Truncated)
	}
	lines := strings.Split(a.Text, "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "[truncated: showing first ") {
		e.Errorf("the last line is %q", last)
	}
	if len(r.Entries) != len(lines)-1 || r.Entries[len(r.Entries)-1].Path != lines[len(lines)-2] {
		e.Errorf("%d entries and %d lines", len(r.Entries), len(lines))
	}
}

// hugeFile demands clear answers about a file of 2 GiB, at no cost.
func hugeFile(e *env) {
	s := e.tools(tool.Options{})
	if r := e.bash(s, "seq 1 3000000 > huge; truncate -s 2G huge; truncate -s 2G holes"); r.ExitCode != 0 {
		testenv.Skip(e, "there can be no file of 2 GiB here: "+r.Text())
	}
	a := e.ok(s, tool.NameReadFile, map[string]any{"path": "huge"})
	e.wantContains(a, "1\n2\n3\n", "16 MiB", "start_line=")
	e.wantText(e.ok(s, tool.NameReadFile, map[string]any{"path": "huge", "start_line": 2999999, "end_line": 3000000}), "2999999\n3000000")
	for _, arguments := range []map[string]any{{"path": "holes"}, {"path": "holes", "start_line": 1}} {
		if a := e.call(s, tool.NameReadFile, arguments); !a.IsError() {
			e.Errorf("holes were read: %q", clip(a.Text))
		} else {
			e.wantContains(a, mapping.Workspace+"/holes", "16 MiB", "head")
		}
	}
	if a := e.call(s, tool.NameStrReplace, map[string]any{"path": "huge", "old_str": "777777\n", "new_str": "x"}); !a.IsError() {
		e.Error("a text in a file of 2 GiB was replaced")
	} else {
		e.wantContains(a, "64 MiB", "sed")
	}
}
