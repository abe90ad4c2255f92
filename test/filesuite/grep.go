package filesuite

import (
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testGrep(e *env) {
	e.put("main.py", "TODO = 'ship it'\nprint(todo)\n\nlast TODO")
	e.put("sub/notes.txt", "a.b\r\naxb\r\n")
	e.put("image.bin", "\x00binary TODO")
	e.put("late.bin", strings.Repeat("TODO text\n", 20)+"\x00")
	e.put("node_modules/m.py", "TODO ignored")
	e.put("latin.txt", "caf\xe9 TODO\n")
	e.put("kelvin.txt", "300 \u212a and \u017ftra\u00dfe\n")
	e.sh("cd " + e.dir + "; ln -s main.py link.py; ln -s sub linkdir; mkfifo fifo; ln -s /proc/self/environ toproc")
	for _, c := range []struct {
		name, pattern string
		o             provider.GrepOptions
		want          []string
	}{
		{"insensitive", "todo", provider.GrepOptions{}, []string{"latin.txt:1:caf\uFFFD TODO", "main.py:1:TODO = 'ship it'", "main.py:2:print(todo)", "main.py:4:last TODO"}},
		{"sensitive", "TODO", provider.GrepOptions{CaseSensitive: true, Glob: "*.py"}, []string{"main.py:1:TODO = 'ship it'", "main.py:4:last TODO"}},
		{"expression", "a.b$", provider.GrepOptions{}, []string{"sub/notes.txt:1:a.b", "sub/notes.txt:2:axb"}},
		{"literal", "a.b", provider.GrepOptions{Literal: true}, []string{"sub/notes.txt:1:a.b"}},
		{"anchors", "^print|^last", provider.GrepOptions{}, []string{"main.py:2:print(todo)", "main.py:4:last TODO"}},
		{"a line's own ends", `\Aprint.*\z`, provider.GrepOptions{}, []string{"main.py:2:print(todo)"}},
		{"empty lines", "^$", provider.GrepOptions{Glob: "main.py"}, []string{"main.py:3:"}},
		{"never over a line's end", `it'\s+print`, provider.GrepOptions{}, nil},
		{"glob by path", "axb", provider.GrepOptions{Glob: "sub/*.txt"}, []string{"sub/notes.txt:2:axb"}},
		{"glob by name", "axb", provider.GrepOptions{Glob: "notes.*"}, []string{"sub/notes.txt:2:axb"}},
		{"glob that excludes", "axb", provider.GrepOptions{Glob: "*.txt2"}, nil},
		{"no ignore", "ignored", provider.GrepOptions{NoIgnore: true}, []string{"node_modules/m.py:1:TODO ignored"}},
		{"folding beyond ASCII", "300 k AND straße", provider.GrepOptions{}, []string{"kelvin.txt:1:300 \u212a and \u017ftra\u00dfe"}},
		{"alternatives", "axb|ship", provider.GrepOptions{}, []string{"main.py:1:TODO = 'ship it'", "sub/notes.txt:2:axb"}},
		{"none", "zzz", provider.GrepOptions{}, nil},
	} {
		res, err := e.s.Grep(e.ctx, e.dir, c.pattern, c.o)
		if err != nil {
			e.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := e.lines(res); strings.Join(got, "\n") != strings.Join(c.want, "\n") || res.Truncated {
			e.Errorf("%s: want\n%q, got\n%q, truncated %v", c.name, c.want, got, res.Truncated)
		}
	}
	res, err := e.s.Grep(e.ctx, e.dir, "TODO", provider.GrepOptions{})
	if err != nil || res.BinarySkipped != 2 || res.FilesSearched != 6 {
		e.Errorf("want 6 files searched and 2 of them binary, got %+v, %v", res, err)
	}
	if res, err = e.s.Grep(e.ctx, e.path("link.py"), "ship", provider.GrepOptions{}); err != nil || len(res.Matches) != 1 || res.Matches[0].Path != e.path("link.py") {
		e.Errorf("one file, by a link: got %+v, %v", res, err)
	}
}

// lines writes matches as PATH:LINE:TEXT.
func (e *env) lines(res *provider.GrepResult) []string {
	var out []string
	for _, m := range res.Matches {
		out = append(out, fmt.Sprintf("%s:%d:%s", strings.TrimPrefix(m.Path, e.dir+"/"), m.Line, m.Text))
	}
	return out
}

func testGrepBounds(e *env) {
	e.put("many", strings.Repeat("hit\n", 1000))
	res, err := e.s.Grep(e.ctx, e.dir, "hit", provider.GrepOptions{})
	if err != nil || len(res.Matches) != 100 || !res.Truncated {
		e.Errorf("by default: want 100 and truncated, got %d, %v", len(res.Matches), err)
	}
	res, err = e.s.Grep(e.ctx, e.dir, "hit", provider.GrepOptions{MaxResults: 9999})
	if err != nil || len(res.Matches) != 500 || !res.Truncated {
		e.Errorf("at most: want 500 and truncated, got %d, %v", len(res.Matches), err)
	}
	e.put("many", "hit\nhit\n")
	res, err = e.s.Grep(e.ctx, e.dir, "hit", provider.GrepOptions{MaxResults: 2})
	if err != nil || len(res.Matches) != 2 || res.Truncated {
		e.Errorf("exactly as many: want 2 and not truncated, got %+v, %v", res, err)
	}
	// Long lines, and lines over the borders of blocks.
	e.put("long", strings.Repeat("y", 1_000_000)+"needle\n"+strings.Repeat("line\n", 300_000)+"needle at the end")
	res, err = e.s.Grep(e.ctx, e.path("long"), "needle at", provider.GrepOptions{})
	if err != nil || len(res.Matches) != 1 || res.Matches[0].Line != 300_002 || res.Matches[0].Text != "needle at the end" {
		e.Errorf("line numbers behind a long line: got %+v, %v", res, err)
	}
	e.put("wide", "x"+strings.Repeat("é", 3000)+"\n")
	res, err = e.s.Grep(e.ctx, e.path("wide"), "^xé", provider.GrepOptions{})
	if err != nil || len(res.Matches) != 1 || len(res.Matches[0].Text) > 2000 || strings.ContainsRune(res.Matches[0].Text, '\uFFFD') {
		e.Errorf("a wide line: want it cut at a rune border, got %v", err)
	}
}

func testGrepRefuses(e *env) {
	for _, c := range []struct {
		path, pattern string
		o             provider.GrepOptions
		kind          provider.Kind
	}{
		{e.path("missing"), "x", provider.GrepOptions{}, provider.NotFound},
		{e.dir, "", provider.GrepOptions{}, provider.Invalid},
		{e.dir, "(", provider.GrepOptions{}, provider.Invalid},
		{e.dir, "(?=look)", provider.GrepOptions{}, provider.Invalid},
		{e.dir, "a{2000}", provider.GrepOptions{}, provider.Invalid},
		{e.dir, "x", provider.GrepOptions{Glob: "["}, provider.Invalid},
		{"/proc", "x", provider.GrepOptions{}, provider.Denied},
		{"relative", "x", provider.GrepOptions{}, provider.Invalid},
	} {
		_, err := e.s.Grep(e.ctx, c.path, c.pattern, c.o)
		if c.path == "/proc" && provider.KindOf(err) == provider.NotFound {
			continue // no procfs here
		}
		e.wantKind("grep "+c.pattern+" in "+c.path, err, c.kind)
	}
}
