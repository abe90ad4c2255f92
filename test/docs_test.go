package test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) { checkPackageComments(t, theTree(t)) }

func checkPackageComments(t testing.TB, tr *tree) {
	for dir, files := range tr.packages() {
		comments := 0
		for _, s := range files {
			if s.file.Doc == nil {
				continue
			}
			comments++
			text := s.file.Doc.Text()
			want := "Package " + s.file.Name.Name + " "
			if s.file.Name.Name == "main" {
				want = "Command "
			}
			if !strings.HasPrefix(text, want) {
				t.Errorf("%s: the package comment begins with %.30q, not %q; go doc shows the first sentence alone", s.path, text, want)
			}
			if strings.Count(text, ".") < 2 {
				t.Errorf("%s: the package comment is one sentence; it says what the package is for, what it must never do, and where to read next", s.path)
			}
		}
		if comments != 1 {
			t.Errorf("%s: %d files have a package comment; every package has exactly one, in doc.go, since it is where a newcomer begins", dir, comments)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) { checkExportedNames(t, theTree(t)) }

func checkExportedNames(t testing.TB, tr *tree) {
	all, missing := 0, 0
	check := func(documented bool, n ast.Node, what string) {
		all++
		if !documented {
			missing++
			t.Errorf("%s: %s has no comment; every exported name says what it is, its units and limits, the kinds of its errors, who may call it at once and who closes what", tr.at(n), what)
		}
	}
	for _, s := range tr.all {
		if s.test || s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if name, ok := exportedFunc(d); ok {
					check(d.Doc != nil, d, name)
				}
			case *ast.GenDecl:
				checkGroup(d, check)
			}
		}
	}
	t.Logf("%d of %d exported names are documented", all-missing, all)
}

// exportedFunc returns the name of a function, or of a method of an exported
// type, that others can call.
func exportedFunc(d *ast.FuncDecl) (string, bool) {
	if !d.Name.IsExported() {
		return "", false
	}
	if d.Recv == nil {
		return d.Name.Name, true
	}
	recv := receiver(d)
	return recv + "." + d.Name.Name, ast.IsExported(recv)
}

func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func checkGroup(d *ast.GenDecl, check func(documented bool, n ast.Node, what string)) {
	above := "" // the comment that was last in the group
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				check(spec.Doc != nil || d.Doc != nil && !d.Lparen.IsValid(), spec, spec.Name.Name)
				checkMethods(spec, check)
			}
		case *ast.ValueSpec:
			if spec.Doc != nil {
				above = spec.Doc.Text()
			}
			for _, name := range spec.Names {
				if name.IsExported() && (d.Tok == token.CONST || d.Tok == token.VAR) {
					// A comment above a group is for all of it, and one
					// that names several is for these.
					named := slices.Contains(strings.FieldsFunc(above, notInName), name.Name)
					check(spec.Doc != nil || spec.Comment != nil || d.Doc != nil || named, spec, name.Name)
				}
			}
		}
	}
}

func notInName(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }

// checkMethods demands a comment at each method of an interface of several;
// for a single one the type's comment is enough.
func checkMethods(spec *ast.TypeSpec, check func(documented bool, n ast.Node, what string)) {
	i, ok := spec.Type.(*ast.InterfaceType)
	if !ok || len(i.Methods.List) < 2 {
		return
	}
	for _, m := range i.Methods.List {
		for _, name := range m.Names {
			if name.IsExported() {
				check(m.Doc != nil || m.Comment != nil, m, spec.Name.Name+"."+name.Name)
			}
		}
	}
}
