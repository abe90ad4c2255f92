package test

import (
	"context"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// importRule says what some packages must not reach, directly or through
// others. Names are folders of this module, or parts of foreign import paths.
type importRule struct {
	from    []string // folders; what is below them is meant too
	own     []string // folders that must not be reached
	foreign []string // parts of import paths that must not be reached
	why     string
}

// heavy are the clients that only their own provider or face may link.
var heavy = []string{"github.com/docker/", "github.com/moby/moby", "k8s.io/", "sigs.k8s.io/"}

var importRules = []importRule{
	{
		from: []string{"mapping"}, own: []string{"fs", "exec", "guest", "provider", "local", "aio", "k8s", "tool", "audit", "internal"},
		why: "mapping is pure: tables and names, used by everybody and using nobody",
	},
	{
		from: []string{"exec"}, own: []string{"fs", "mapping", "provider", "guest", "local", "aio", "k8s", "tool", "audit"}, foreign: []string{"go-fuse"},
		why: "exec runs inside the sandbox, which knows nothing of regions, trees and providers",
	},
	{
		from: []string{"fs"}, own: []string{"exec", "provider", "guest", "local", "aio", "k8s", "tool", "audit"},
		why: "fs serves a mapping; who mounts it and what runs above it is not its matter",
	},
	{
		from: []string{"provider"}, own: []string{"fs", "exec", "guest", "local", "aio", "k8s", "tool", "audit", "internal"}, foreign: []string{"go-fuse", "golang.org/x/sys", "logrus", "urfave"},
		why: "provider is what a Go program imports beside one provider: mapping and nothing heavier",
	},
	{
		from: []string{"guest"}, own: []string{"fs", "local", "aio", "k8s", "tool", "audit"}, foreign: []string{"go-fuse"},
		why: "one guest serves three providers, so it knows none of them, and it runs where no tree is served",
	},
	{from: []string{"local"}, own: []string{"aio", "k8s", "tool", "audit"}, why: "providers never import each other, nor what is above them"},
	{from: []string{"aio"}, own: []string{"local", "k8s", "tool", "audit"}, why: "providers never import each other, nor what is above them"},
	{from: []string{"k8s"}, own: []string{"local", "aio", "tool", "audit"}, why: "providers never import each other, nor what is above them"},
	{from: []string{"tool", "audit"}, own: []string{"local", "aio", "k8s", "fs", "exec", "internal/mcp"}, foreign: []string{"modelcontextprotocol", "urfave"}, why: "tools work on any provider.Sandbox"},
	{
		from: []string{"fs", "mapping", "exec", "guest", "audit", "provider", "local", "tool"}, foreign: heavy,
		why: "a program that embeds sandboxfs with the local provider must not carry a Docker or Kubernetes client",
	},
	{
		from: []string{"cmd/sandboxfsd"}, own: []string{"aio", "k8s", "tool", "local", "internal/mcp", "internal/gateway"}, foreign: append([]string{"mcp", "urfave"}, heavy...),
		why: "sandboxfsd runs once per thread, so its memory and start time are the product's",
	},
}

// graph is the module's import graph, as go list has it.
type graph struct {
	imports map[string][]string // by import path; of tests nothing
	tests   map[string][]string // what the tests of a package import
}

var listOnce = sync.OnceValues(goList)

func theGraph(t *testing.T) *graph {
	t.Helper()
	g, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func goList() (*graph, error) {
	tr, err := readOnce()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// -e: a package that does not compile at the moment breaks no rule here.
	cmd := osexec.CommandContext(ctx, "go", "list", "-e", "-deps", "-f",
		`{{.ImportPath}}|{{join .Imports " "}}|{{if not .Standard}}{{join .TestImports " "}} {{join .XTestImports " "}}{{end}}`, "./...")
	cmd.Dir, cmd.Env, cmd.Stderr = tr.root, append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	g := &graph{imports: map[string][]string{}, tests: map[string][]string{}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(fields) != 3 {
			continue
		}
		g.imports[fields[0]] = strings.Fields(fields[1])
		g.tests[fields[0]] = strings.Fields(fields[2])
	}
	return g, nil
}

// own returns the folder of a package of this module.
func own(importPath string) (dir string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// reach returns, for everything reachable from a package, the chain that leads
// there.
func (g *graph) reach(from string) map[string][]string {
	chains := map[string][]string{from: {from}}
	queue := []string{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, next := range g.imports[at] {
			if chains[next] == nil {
				chains[next] = append(slices.Clone(chains[at]), next)
				queue = append(queue, next)
			}
		}
	}
	return chains
}

// forbids returns what a rule has against an import path: a part of it.
func (r importRule) forbids(importPath string) bool {
	if dir, ok := own(importPath); ok {
		return withinAny(dir, r.own)
	}
	return slices.ContainsFunc(r.foreign, func(part string) bool { return strings.Contains(importPath, part) })
}

func TestImportsGoDownwards(t *testing.T) { checkImports(t, theGraph(t)) }

func checkImports(t testing.TB, g *graph) {
	for from := range g.imports {
		dir, ok := own(from)
		if !ok {
			continue
		}
		chains := g.reach(from)
		for _, rule := range importRules {
			if !withinAny(dir, rule.from) {
				continue
			}
			for to, chain := range chains {
				// The shortest chain names the import to remove.
				if len(chain) > 1 && rule.forbids(to) && !rule.forbids(chain[len(chain)-2]) {
					t.Errorf("%s reaches %s:\n\t%s\n%s", dir, to, strings.Join(chain, "\n\t-> "), rule.why)
				}
			}
		}
	}
}

func TestMappingIsPure(t *testing.T) { checkPurity(t, theGraph(t)) }

func checkPurity(t testing.TB, g *graph) {
	for _, imported := range g.imports[module+"/mapping"] {
		first, _, _ := strings.Cut(imported, "/")
		if strings.Contains(first, ".") || slices.Contains([]string{"os", "io", "net", "syscall", "time", "unsafe", "log", "path/filepath"}, imported) {
			t.Errorf("mapping imports %s; it computes names and never looks at a file system, a clock or a network", imported)
		}
	}
}

func TestTestCodeStaysInTests(t *testing.T) { checkTestCode(t, theTree(t)) }

func checkTestCode(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if !s.product() {
			continue
		}
		for _, imported := range s.imports() {
			dir, isOwn := own(imported)
			if imported == "testing" || isOwn && (within(dir, "test") || within(dir, "internal/testenv")) {
				t.Errorf("%s imports %s; what is for tests must not end up in a program", s.path, imported)
			}
		}
	}
}

// The names fs and exec are ours; the standard library's get another one, so
// that a reader never has to look up which is meant.
func TestOurNamesAreNotAliased(t *testing.T) { checkAliases(t, theTree(t)) }

func checkAliases(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		names := s.imports()
		for name, imported := range names {
			dir, isOwn := own(imported)
			if isOwn && (dir == "fs" || dir == "exec") && name != dir && name != "_" {
				t.Errorf("%s imports %s as %s; alias the standard library's as iofs and osexec, never ours", s.path, imported, name)
			}
		}
	}
}
