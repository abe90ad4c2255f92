package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// module is this module's path.
const module = "github.com/sandboxfs/sandboxfs"

// source is one Go file of the module.
type source struct {
	path  string // relative to the module's root, with slashes
	dir   string // its folder, "." for the root
	file  *ast.File
	lines int
	test  bool // a _test file
}

// tree is the module's source.
type tree struct {
	root  string
	files *token.FileSet
	all   []*source
}

// readOnce reads the tree for all rules; nobody changes what it returns.
var readOnce = sync.OnceValues(readTree)

func theTree(t *testing.T) *tree {
	t.Helper()
	tr, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.all) == 0 {
		t.Fatal("there is no Go file in the module")
	}
	return tr
}

func readTree() (*tree, error) {
	root, err := testenv.ModuleRoot()
	if err != nil {
		return nil, err
	}
	tr := &tree{root: root, files: token.NewFileSet()}
	err = tr.walk(func(name string) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return tr.add(name, string(text))
	})
	return tr, err
}

func (tr *tree) add(name, text string) error {
	file, err := parser.ParseFile(tr.files, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	tr.all = append(tr.all, &source{
		path: name, dir: path.Dir(name), file: file, lines: strings.Count(text, "\n"),
		test: strings.HasSuffix(name, "_test.go"),
	})
	return nil
}

// walk calls each for every file that is part of the module, by its path
// relative to the root: not what git and the build keep for themselves.
func (tr *tree) walk(each func(name string) error) error {
	return filepath.WalkDir(tr.root, func(full string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // made and removed by somebody meanwhile
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tr.root, full)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || name == "bin" || base != "." && strings.HasPrefix(base, ".") && base != ".ci" && base != ".github" && full != tr.root {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return each(name)
	})
}

// at says where something is, for a message.
func (tr *tree) at(n ast.Node) string {
	p := tr.files.Position(n.Pos())
	return p.String()
}

// packages returns the folders with Go files that are no tests.
func (tr *tree) packages() map[string][]*source {
	byDir := map[string][]*source{}
	for _, s := range tr.all {
		if !s.test {
			byDir[s.dir] = append(byDir[s.dir], s)
		}
	}
	return byDir
}

// product reports whether a file ends up in a program of ours: not tests, not
// what only tests import, not the programs that stand for other people's.
func (s *source) product() bool {
	return !s.test && !within(s.dir, "test") && !within(s.dir, "internal/testenv") && !within(s.dir, "scripts") && !within(s.dir, "examples")
}

// within reports whether a folder is another or below it.
func within(dir, other string) bool { return dir == other || strings.HasPrefix(dir, other+"/") }

func withinAny(dir string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return within(dir, o) })
}

// imports returns the paths that a file imports, by the name it uses for each.
func (s *source) imports() map[string]string {
	byName := map[string]string{}
	for _, spec := range s.file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = p
	}
	return byName
}
