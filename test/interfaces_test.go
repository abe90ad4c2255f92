package test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// maxMethods bounds an exported interface that is not in wide.
const maxMethods = 3

// wide are the interfaces with more methods, each with the methods it has: a
// change of one is a decision.
var wide = map[string][]string{
	// One method for each way in which a request changes what is counted; there
	// is one implementation, and no part of it is of use alone.
	"fs.Quota":         {"Closed", "Exchange", "Link", "Make", "Move", "Nameless", "Opened", "Resize", "Unname", "Usage", "Write"},
	"provider.Sandbox": {"DownloadFile", "Execute", "Glob", "Grep", "ID", "ListDir", "ReadFile", "ReplaceInFile", "UpdateFile", "WriteFile"},
}

// exact are small interfaces that must stay exactly as they are: every
// provider, also of somebody else's, implements them.
var exact = map[string][]string{
	"provider.Provider": {"Acquire", "Get", "Release"},
	"provider.Process":  {"Resize", "Signal", "Wait"},
}

func TestInterfacesAreSmall(t *testing.T) { checkInterfaces(t, theTree(t)) }

func checkInterfaces(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			i, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return true
			}
			name := s.file.Name.Name + "." + spec.Name.Name
			methods := methodsOf(i)
			want := wide[name]
			if want == nil {
				want = exact[name]
			}
			switch {
			case want != nil && !slices.Equal(methods, want):
				t.Errorf("%s: %s has the methods %v, not %v; what only some can do is a one-method interface of its own", tr.at(spec), name, methods, want)
			case want == nil && len(methods) > maxMethods:
				t.Errorf("%s: %s has %d methods, more than %d; abilities are separate one-method interfaces", tr.at(spec), name, len(methods), maxMethods)
			}
			return true
		})
	}
}

// methodsOf returns the names of an interface's methods, sorted; an embedded
// interface counts as one.
func methodsOf(i *ast.InterfaceType) []string {
	var names []string
	for _, m := range i.Methods.List {
		for _, name := range m.Names {
			names = append(names, name.Name)
		}
		if len(m.Names) == 0 {
			names = append(names, "(embedded)")
		}
	}
	slices.Sort(names)
	return names
}

// A call such as Open(path, true) says nothing to its reader.
func TestNoBooleanParameters(t *testing.T) { checkParameters(t, theTree(t)) }

func checkParameters(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if !s.product() || s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name, exported := exportedFunc(f)
			if !exported {
				continue
			}
			for _, p := range f.Type.Params.List {
				if id, ok := p.Type.(*ast.Ident); ok && id.Name == "bool" {
					t.Errorf("%s: %s has a boolean parameter; use two functions, a named type or a field of an options struct", tr.at(p), strings.TrimPrefix(name, "."))
				}
			}
		}
	}
}
