package test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// packageState are the package-level variables that change, each with the
// reason why it cannot be a value that somebody owns.
var packageState = map[string]string{
	"provider.process": "the registry of providers and the process-wide default, behind one mutex, as database/sql has it",
}

// TestNoPackageLevelState looks for package-level variables of the product
// that are written after their declaration or are locks by themselves.
func TestNoPackageLevelState(t *testing.T) { checkState(t, theTree(t)) }

func checkState(t testing.TB, tr *tree) {
	byDir := tr.packages()
	for dir, files := range byDir {
		vars := map[string]*ast.ValueSpec{}
		for _, s := range files {
			if !s.product() {
				continue
			}
			for _, d := range s.file.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.VAR {
					continue
				}
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					for _, name := range v.Names {
						if name.Name != "_" {
							vars[name.Name] = v
						}
					}
				}
			}
		}
		for name, spec := range vars {
			known := files[0].file.Name.Name + "." + name
			if _, ok := packageState[known]; ok {
				continue
			}
			if lock := lockIn(spec); lock != "" {
				t.Errorf("%s: the package-level variable %s holds a %s, so it is state; let a value own it (%s)", tr.at(spec), name, lock, dir)
			}
		}
		for _, s := range files {
			if s.product() {
				reportWrites(t, tr, s, vars)
			}
		}
	}
}

// lockIn returns the type of sync or sync/atomic that a variable is, or is
// made by. sync.OnceValue and its like are constants that are computed late.
func lockIn(spec *ast.ValueSpec) string {
	found := ""
	look := func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && (pkg.Name == "sync" || pkg.Name == "atomic") && !strings.HasPrefix(sel.Sel.Name, "OnceValue") && sel.Sel.Name != "OnceFunc" {
				found = pkg.Name + "." + sel.Sel.Name
			}
		}
		return true
	}
	if spec.Type != nil {
		ast.Inspect(spec.Type, look)
	}
	for _, v := range spec.Values {
		ast.Inspect(v, look)
	}
	return found
}

// reportWrites reports assignments to, and through, package-level variables.
func reportWrites(t testing.TB, tr *tree, s *source, vars map[string]*ast.ValueSpec) {
	check := func(e ast.Expr) {
		id := rootIdent(e)
		if id == nil || vars[id.Name] == nil {
			return
		}
		// The parser resolves names within a file: one that it resolved to
		// something else is a local of the same name.
		if id.Obj != nil && id.Obj.Decl != vars[id.Name] {
			return
		}
		known := s.file.Name.Name + "." + id.Name
		if _, ok := packageState[known]; !ok {
			t.Errorf("%s: the package-level variable %s is written; state belongs to a value that somebody makes and owns", tr.at(e), id.Name)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, l := range n.Lhs {
					check(l)
				}
			}
		case *ast.IncDecStmt:
			check(n.X)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
				check(n.Args[0])
			}
		}
		return true
	})
}

// rootIdent returns x of x, x.f, x[i] and *x.
func rootIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
