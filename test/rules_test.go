package test

import (
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// treeOf makes a tree of files that do not exist.
func treeOf(t testing.TB, files map[string]string) *tree {
	t.Helper()
	tr := &tree{files: token.NewFileSet()}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := tr.add(name, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// A rule that cannot fail is none: each is shown one file that keeps it and
// one that breaks it.
func TestRulesOverSource(t *testing.T) {
	long := "package x\n" + strings.Repeat("// x\n", maxLines)
	for _, c := range []struct {
		name        string
		rule        func(t testing.TB, tr *tree)
		path        string
		keeps       string
		breaks      string
		wantMessage string
	}{
		{"package comment", checkPackageComments, "x/a.go", "// Package x is one. It must not be two.\npackage x", "package x", "0 files have a package comment"},
		{"short package comment", checkPackageComments, "x/a.go", "// Package x is one. It must not be two.\npackage x", "// Package x is one.\npackage x", "one sentence"},
		{"package comment of a program", checkPackageComments, "cmd/x/a.go", "// Command x does. Not more.\npackage main", "// Package main does. Not more.\npackage main", "Command"},
		{"exported function", checkExportedNames, "x/a.go", "package x\n// F does.\nfunc F() {}\nfunc g() {}", "package x\nfunc F() {}", "F has no comment"},
		{"exported method", checkExportedNames, "x/a.go", "package x\ntype t[T any] int\nfunc (t[T]) F() {}", "package x\n// T is.\ntype T[K any] int\nfunc (*T[K]) F() {}", "T.F has no comment"},
		{"exported constant", checkExportedNames, "x/a.go", "package x\nconst (\n// A and B are.\nA = 1\nB = 2\n)", "package x\nconst (\n// A is.\nA = 1\nB = 2\n)", "B has no comment"},
		{"method of an interface", checkExportedNames, "x/a.go", "package x\n// I is.\ntype I interface{ F() }", "package x\n// I is.\ntype I interface{ F(); G() }", "I.F has no comment"},
		{"length", checkSizes, "x/a_test.go", "package x\n", long, "more than 600"},
		{"blanket name", checkNames, "x/a.go", "package x", "package util", "says nothing"},
		{"name of the folder", checkNames, "x/a.go", "package x", "package y", "one name is enough"},
		{"wide interface", checkInterfaces, "x/a.go", "package x\ntype I interface{ A(); B(); C() }", "package x\ntype I interface{ A(); B(); C(); D() }", "4 methods"},
		{"exact interface", checkInterfaces, "provider/a.go", "package provider\ntype Provider interface{ Acquire(); Get(); Release() }", "package provider\ntype Provider interface{ Acquire(); Get() }", "not [Acquire Get Release]"},
		{"boolean parameter", checkParameters, "x/a.go", "package x\nfunc F(s string) {}\nfunc g(b bool) {}", "package x\nfunc F(b bool) {}", "boolean parameter"},
		{"written variable", checkState, "x/a.go", "package x\nvar a = 1\nfunc f() { a := 2; a = 3; _ = a }", "package x\nvar a = 1\nfunc f() { a = 3 }", "a is written"},
		{"written map", checkState, "x/a.go", "package x\nvar m = map[int]int{}\nfunc f() int { return m[1] }", "package x\nvar m = map[int]int{}\nfunc f() { delete(m, 1) }", "m is written"},
		{"counted variable", checkState, "x/a.go", "package x\nvar a struct{ b int }\nfunc f() { _ = a.b }", "package x\nvar a struct{ b int }\nfunc f() { a.b++ }", "a is written"},
		{"lock", checkState, "x/a.go", "package x\nimport \"sync\"\nvar v = sync.OnceValue(func() int { return 1 })", "package x\nimport \"sync\"\nvar mu sync.Mutex", "sync.Mutex"},
		{"call by path", checkDescriptors, "fs/a.go", "package fs\nimport \"os\"\nfunc f() { os.ReadFile(\"/proc/self/status\") }", "package fs\nimport \"os\"\nfunc f(p string) { os.ReadFile(p) }", "os.ReadFile"},
		{"call by path, aliased", checkDescriptors, "local/a.go", "package local\nimport u \"golang.org/x/sys/unix\"\nfunc f() { u.Openat(3, \"x\", 0, 0) }", "package local\nimport u \"golang.org/x/sys/unix\"\nfunc f(p string) { u.Open(p, 0, 0) }", "unix.Open"},
		{"call by path of an old package", checkDescriptors, "fs/a.go", "package fs", "package fs\nimport \"syscall\"\nfunc f(p string) { syscall.Unlink(\"/srv/\"+p) }", "syscall.Unlink"},
		{"recursive removal", checkBannedCalls, "x/a.go", "package x\nimport \"os\"\nfunc f() { os.Remove(\"x\") }", "package x\nimport \"os\"\nfunc f() { os.RemoveAll(\"x\") }", "through a mount"},
		{"ignored signal", checkBannedCalls, "guest/a.go", "package guest\nimport \"os/signal\"\nfunc f() { signal.Reset() }", "package guest\nimport \"os/signal\"\nfunc f() { signal.Ignore() }", "Notify"},
		{"printing", checkBannedCalls, "x/a.go", "package x\nimport \"fmt\"\nfunc f() { fmt.Fprintln(nil) }", "package x\nimport \"fmt\"\nfunc f() { fmt.Println() }", "stdout"},
		{"exit", checkBannedCalls, "x/a.go", "package x\nimport \"os\"\nfunc SlotMain() { os.Exit(1) }", "package x\nimport \"os\"\nfunc F() { os.Exit(1) }", "return the error"},
		{"skip", checkSkips, "x/a_test.go", "package x\nfunc f() { if testing.Short() { t.Skip() } }", "package x\nfunc f() { t.Skip() }", "testenv.Skip"},
		{"sleep", checkSleeps, "x/a_test.go", "package x\nimport \"time\"\nfunc f() { for { time.Sleep(1) }\n time.Sleep(1) // slow on purpose\n}", "package x\nimport \"time\"\nfunc f() { time.Sleep(1) }", "guessed"},
		{"test code in a program", checkTestCode, "x/a.go", "package x", "package x\nimport \"testing\"", "must not end up"},
		{"test code of ours in a program", checkTestCode, "x/a.go", "package x", "package x\nimport \"" + module + "/internal/testenv\"", "must not end up"},
		{"a Mac", checkPlatform, "cmd/sandboxfs/a.go", "//go:build linux\n\npackage main", "package main", "on a Mac"},
		{"internal type", checkInternalTypes, "local/a.go", "package local\nimport \"" + module + "/internal/rundir\"\ntype T struct { r rundir.Root }", "package local\nimport \"" + module + "/internal/rundir\"\ntype T struct { R rundir.Root }", "no other module"},
		{"alias", checkAliases, "x/a.go", "package x\nimport iofs \"io/fs\"\nimport \"" + module + "/fs\"", "package x\nimport tree \"" + module + "/fs\"", "never ours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := testenv.Record("keeps", func(t testing.TB) {
				c.rule(t, treeOf(t, map[string]string{c.path: c.keeps, "other/b.go": "// Package other is. Not more.\npackage other"}))
			}); r.Failed {
				t.Errorf("what keeps the rule failed: %s", r.Text())
			}
			r := testenv.Record("breaks", func(t testing.TB) {
				c.rule(t, treeOf(t, map[string]string{c.path: c.breaks, "other/b.go": "// Package other is. Not more.\npackage other"}))
			})
			if !r.Failed || !strings.Contains(r.Text(), c.wantMessage) {
				t.Errorf("what breaks the rule: failed %v, %q; want a message with %q", r.Failed, r.Text(), c.wantMessage)
			}
		})
	}
}

func TestRulesOverImports(t *testing.T) {
	p := func(dir string) string { return module + "/" + dir }
	for name, c := range map[string]struct {
		imports map[string][]string
		want    string // "" means that the rule is kept
	}{
		"downwards":                {map[string][]string{p("local"): {p("provider"), p("guest")}, p("guest"): {p("exec"), p("provider")}, p("provider"): {p("mapping")}}, ""},
		"exec to fs":               {map[string][]string{p("exec"): {p("fs")}}, "exec reaches"},
		"below exec to mapping":    {map[string][]string{p("exec/jail"): {p("mapping")}}, "exec/jail reaches"},
		"through a third":          {map[string][]string{p("exec"): {p("internal/x")}, p("internal/x"): {p("provider")}}, "internal/x\n\t-> " + p("provider")},
		"a provider to another":    {map[string][]string{p("local"): {p("aio")}}, "never import each other"},
		"Docker from the daemon":   {map[string][]string{p("cmd/sandboxfsd"): {"github.com/docker/docker/client"}}, "once per thread"},
		"MCP from the daemon":      {map[string][]string{p("cmd/sandboxfsd"): {"github.com/modelcontextprotocol/go-sdk/mcp"}}, "once per thread"},
		"Kubernetes from audit":    {map[string][]string{p("audit"): {"k8s.io/client-go/rest"}}, "Kubernetes"},
		"Docker from its provider": {map[string][]string{p("aio"): {"github.com/docker/docker/client"}, p("cmd/sandboxfs"): {p("aio")}}, ""},
		"provider to a heavy one":  {map[string][]string{p("provider"): {"github.com/sirupsen/logrus"}}, "nothing heavier"},
	} {
		r := testenv.Record(name, func(t testing.TB) { checkImports(t, &graph{imports: c.imports}) })
		if r.Failed != (c.want != "") || !strings.Contains(r.Text(), c.want) {
			t.Errorf("%s: failed %v, %q; want %q", name, r.Failed, r.Text(), c.want)
		}
	}
	for imported, fails := range map[string]bool{"strings": false, "os": true, "github.com/x/y": true} {
		r := testenv.Record(imported, func(t testing.TB) { checkPurity(t, &graph{imports: map[string][]string{p("mapping"): {imported}}}) })
		if r.Failed != fails {
			t.Errorf("mapping imports %s: failed %v, want %v", imported, r.Failed, fails)
		}
	}
}

// The rules look at what is there; this looks at whether they see it.
func TestTheRulesSeeTheModule(t *testing.T) {
	tr, g := theTree(t), theGraph(t)
	packages := tr.packages()
	for _, dir := range []string{"mapping", "provider", "internal/testenv", "test/lifecycle"} {
		if len(packages[dir]) == 0 || g.imports[module+"/"+dir] == nil {
			t.Errorf("%s is not seen", dir)
		}
	}
	for _, want := range []string{"path", "syscall"} {
		if chains := g.reach(module + "/provider"); chains[want] == nil {
			t.Errorf("provider is not seen to reach %s", want)
		}
	}
}
