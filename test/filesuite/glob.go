package filesuite

import (
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

func testGlob(e *env) {
	for _, f := range []string{"app.py", "src/a.py", "src/x/y/a.py", "src/x/b.go", "node_modules/m.py", ".git/c.py", "build/out.py", ".dot/d.py", "we[ir]d.py"} {
		e.put(f, "")
	}
	e.sh("cd " + e.dir + "; ln -s app.py link.py; ln -s src linkdir; ln -s nowhere dangling.py; ln -s .. src/up")
	for _, c := range []struct {
		pattern string
		o       provider.GlobOptions
		want    string
	}{
		{"**/*.py", provider.GlobOptions{}, ".dot/d.py app.py build/out.py dangling.py link.py src/a.py src/x/y/a.py we[ir]d.py"},
		{"*.py", provider.GlobOptions{}, "app.py dangling.py link.py we[ir]d.py"},
		{"src/**/*.py", provider.GlobOptions{}, "src/a.py src/x/y/a.py"},
		{"src/**", provider.GlobOptions{}, "src/a.py src/x/b.go src/x/y/a.py"},
		{"src/*", provider.GlobOptions{IncludeDirs: true}, "src/a.py src/up src/x"},
		{"**/x", provider.GlobOptions{}, ""},
		{"**/x", provider.GlobOptions{IncludeDirs: true}, "src/x"},
		{"**/*.{go,rs}", provider.GlobOptions{}, "src/x/b.go"},
		{"**/[ab].*", provider.GlobOptions{}, "src/a.py src/x/b.go src/x/y/a.py"},
		{"we\\[ir\\]d.py", provider.GlobOptions{}, "we[ir]d.py"},
		{"node_modules/*", provider.GlobOptions{}, "node_modules/m.py"},
		{"./app.py", provider.GlobOptions{}, "app.py"},
		{"**/*.py", provider.GlobOptions{NoIgnore: true}, ".dot/d.py .git/c.py app.py build/out.py dangling.py link.py node_modules/m.py src/a.py src/x/y/a.py we[ir]d.py"},
		{"none", provider.GlobOptions{}, ""},
	} {
		res, err := e.s.Glob(e.ctx, e.dir, c.pattern, c.o)
		if err != nil {
			e.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := e.relative(res.Paths); got != c.want || res.Truncated {
			e.Errorf("%s: want\n%s, got\n%s, truncated %v", c.pattern, c.want, got, res.Truncated)
		}
	}
	// The root itself is not subject to the ignore list.
	res, err := e.s.Glob(e.ctx, e.path("node_modules"), "**", provider.GlobOptions{})
	if err != nil || e.relative(res.Paths) != "node_modules/m.py" {
		e.Errorf("below node_modules: got %+v, %v", res, err)
	}
}

// relative joins paths without the test's directory.
func (e *env) relative(paths []string) string {
	var out []string
	for _, p := range paths {
		out = append(out, strings.TrimPrefix(p, e.dir+"/"))
	}
	return strings.Join(out, " ")
}

func testGlobBounds(e *env) {
	e.sh("cd " + e.dir + "; for i in $(seq 1 30); do : > f$i.txt; done")
	res, err := e.s.Glob(e.ctx, e.dir, "*.txt", provider.GlobOptions{MaxResults: 7})
	if err != nil || len(res.Paths) != 7 || !res.Truncated || !slices.IsSorted(res.Paths) {
		e.Errorf("want 7 sorted paths and truncated, got %+v, %v", res, err)
	}
	res, err = e.s.Glob(e.ctx, e.dir, "*.txt", provider.GlobOptions{MaxResults: 30})
	if err != nil || len(res.Paths) != 30 || res.Truncated {
		e.Errorf("exactly as many: want 30 and not truncated, got %d, %v", len(res.Paths), err)
	}
	// Deeper than a path can be named: bounded, and said so.
	e.sh("cd " + e.dir + "; n=$(printf 'd%.0s' $(seq 100)); for i in $(seq 1 60); do mkdir $n && cd $n || exit 1; done")
	if _, err = e.s.Glob(e.ctx, e.dir, "**/*.none", provider.GlobOptions{}); err != nil {
		e.Errorf("a very deep tree: %v", err)
	}
}

func testGlobRefuses(e *env) {
	e.put("file", "")
	for _, c := range []struct {
		path, pattern string
		kind          provider.Kind
	}{
		{e.path("missing"), "*", provider.NotFound},
		{e.path("file"), "*", provider.Invalid},
		{e.dir, "", provider.Invalid},
		{e.dir, "[", provider.Invalid},
		{e.dir, "{a", provider.Invalid},
		{e.dir, "/abs/*", provider.Invalid},
		{e.dir, "../*", provider.Invalid},
		{e.dir, strings.Repeat("{a,b}", 40), provider.Invalid},
		{e.dir, strings.Repeat("x", 10000), provider.Invalid},
		{"relative", "*", provider.Invalid},
	} {
		_, err := e.s.Glob(e.ctx, c.path, c.pattern, provider.GlobOptions{})
		e.wantKind("glob "+clip(c.pattern)+" in "+c.path, err, c.kind)
	}
}
