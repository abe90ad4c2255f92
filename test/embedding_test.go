package test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// forOthers are the packages that a program of somebody else's imports.
var forOthers = []string{"mapping", "provider", "local", "test/lifecycle", "test/filesuite", "test/execsuite", "test/sessionsuite", "tool", "test/toolsuite"}

// What others import must not need a name that they cannot write.
func TestNoInternalTypeIsExported(t *testing.T) { checkInternalTypes(t, theTree(t)) }

func checkInternalTypes(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if s.test || !withinAny(s.dir, forOthers) {
			continue
		}
		imports := s.imports()
		look := func(n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StructType:
					for _, f := range n.Fields.List {
						if len(f.Names) == 0 || f.Names[0].IsExported() {
							lookAt(t, tr, imports, f.Type)
						}
					}
					return false
				case *ast.SelectorExpr:
					lookAt(t, tr, imports, n)
				}
				return true
			})
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
					look(d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.IsExported() {
							look(spec.Type)
						}
					case *ast.ValueSpec:
						if spec.Names[0].IsExported() && spec.Type != nil {
							look(spec.Type)
						}
					}
				}
			}
		}
	}
}

// lookAt reports names of internal packages in a type.
func lookAt(t testing.TB, tr *tree, imports map[string]string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && strings.HasPrefix(imports[x.Name], module+"/internal/") {
			t.Errorf("%s: an exported name needs %s.%s, which no other module can import; give the package a type of its own", tr.at(sel), x.Name, sel.Sel.Name)
		}
		return true
	})
}

// The code in docs/EMBEDDING.md is that of the examples, which are tested.
func TestTheEmbeddingDocumentShowsTestedCode(t *testing.T) {
	var code strings.Builder
	tr := theTree(t)
	for _, s := range tr.all {
		if within(s.dir, "examples") {
			code.WriteString(readDoc(t, s.path))
		}
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readDoc(t, "docs/EMBEDDING.md"), -1)
	if len(blocks) < 3 {
		t.Errorf("docs/EMBEDDING.md has %d blocks of Go; were they found?", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(code.String(), b[1]) {
			t.Errorf("docs/EMBEDDING.md: this is in no file below examples/, so nothing tests it:\n%s", b[1])
		}
	}
}
