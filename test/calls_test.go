package test

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// byPath are the calls that walk a whole path: every component of it is looked
// up anew and symbolic links are followed, so between a check and the call
// somebody can put another file there. The key is the import path.
var byPath = map[string][]string{
	"os": {
		"Chdir", "Chmod", "Chown", "Chtimes", "Create", "CreateTemp", "DirFS", "Lchown", "Link", "Lstat", "Mkdir", "MkdirAll", "MkdirTemp", "Open",
		"OpenFile", "ReadDir", "ReadFile", "Readlink", "Remove", "RemoveAll", "Rename", "Stat", "Symlink", "Truncate", "WriteFile",
	},
	"io/ioutil":             {"ReadAll", "ReadDir", "ReadFile", "TempDir", "TempFile", "WriteFile"},
	"path/filepath":         {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"golang.org/x/sys/unix": byPathUnix,
	"syscall":               byPathUnix,
}

var byPathUnix = []string{
	"Access", "Chdir", "Chmod", "Chown", "Creat", "Getxattr", "Lchown", "Lgetxattr", "Link", "Listxattr", "Llistxattr", "Lremovexattr", "Lsetxattr", "Lstat",
	"Mkdir", "Mkfifo", "Mknod", "Open", "Readlink", "Removexattr", "Rename", "Rmdir", "Setxattr", "Stat", "Statfs", "Symlink", "Truncate", "Unlink", "Utimes", "UtimesNano",
}

// descriptorsOnly are the packages that reach a thread's files on the host.
// They use descriptors: internal/hostpath, or the -at calls with one
// component. Names that the kernel itself provides are no exception of theirs:
// see kernelNames.
var descriptorsOnly = []string{"fs", "local", "internal/keeper", "guest/file"}

// kernelNames begin the paths that cannot be swapped by a user.
var kernelNames = []string{"/proc", "/sys/", "/dev/"}

// kernelNameFuncs return such a path, of a descriptor.
var kernelNameFuncs = []string{"procPath"}

// byPathAllowed are the calls with a path that are right where they are, by
// folder and function, with the reason.
var byPathAllowed = map[string]string{
	"local New os.MkdirAll":                  "the data directory is the operator's own configuration; everything below it goes by descriptor",
	"local findDaemon filepath.EvalSymlinks": "looks for our own program, not for a thread's file",
	"local isExecutable os.Stat":             "looks for our own program, not for a thread's file",
}

func TestHostFilesAreReachedByDescriptor(t *testing.T) { checkDescriptors(t, theTree(t)) }

func checkDescriptors(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if s.test || !withinAny(s.dir, descriptorsOnly) {
			continue
		}
		eachCall(s, func(function, importPath, name string, call *ast.CallExpr) {
			if !slices.Contains(byPath[importPath], name) || len(call.Args) == 0 || isKernelName(call.Args[0]) {
				return
			}
			pkg := importPath[strings.LastIndex(importPath, "/")+1:]
			if _, ok := byPathAllowed[s.dir+" "+function+" "+pkg+"."+name]; ok {
				return
			}
			t.Errorf("%s: %s calls %s.%s with a path; a parent can be swapped for a symbolic link meanwhile: open relative to a held descriptor, through internal/hostpath or the -at calls with one component",
				tr.at(call), function, pkg, name)
		})
	}
}

// isKernelName reports whether a path is a literal, or a format or sum that
// begins with one, of the kernel's.
func isKernelName(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return err == nil && x.Kind == token.STRING && slices.ContainsFunc(kernelNames, func(p string) bool { return strings.HasPrefix(text, p) })
	case *ast.BinaryExpr:
		return isKernelName(x.X)
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); ok {
			return slices.Contains(kernelNameFuncs, id.Name)
		}
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Sprintf" || sel.Sel.Name == "Join" || sel.Sel.Name == "Sprint") && len(x.Args) > 0 {
			return isKernelName(x.Args[0])
		}
	}
	return false
}

// eachCall calls do for every call of an imported package's function, with the
// function that it is in.
func eachCall(s *source, do func(function, importPath, name string, call *ast.CallExpr)) {
	imports := s.imports()
	for _, d := range s.file.Decls {
		function := "a variable"
		if f, ok := d.(*ast.FuncDecl); ok {
			function = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil { // a package is no object of the file
				if importPath, ok := imports[pkg.Name]; ok {
					do(function, importPath, sel.Sel.Name, call)
				}
			}
			return true
		})
	}
}

// callRule bans one function.
type callRule struct {
	importPath, name string
	in               func(s *source) bool
	why              string
}

var callRules = []callRule{
	{"os", "RemoveAll", func(s *source) bool { return s.product() && s.dir != "internal/hostpath" },
		"it removes through a mount; use internal/hostpath, which checks and removes by descriptor"},
	{"os/signal", "Ignore", func(s *source) bool { return s.product() && withinAny(s.dir, []string{"guest", "exec"}) },
		"an ignored signal stays ignored in every command that is started; use Notify"},
	{"fmt", "Println", library, "results go to a writer that the caller gives; stdout can be a protocol's"},
	{"fmt", "Printf", library, "results go to a writer that the caller gives; stdout can be a protocol's"},
	{"fmt", "Print", library, "results go to a writer that the caller gives; stdout can be a protocol's"},
	{"log", "Printf", (*source).product, "log lines are structured, by logrus with a fixed set of keys"},
	{"log", "Println", (*source).product, "log lines are structured, by logrus with a fixed set of keys"},
	{"log", "Fatal", (*source).product, "it ends the program in the middle of somebody else's work; return the error"},
	{"log", "Fatalf", (*source).product, "it ends the program in the middle of somebody else's work; return the error"},
	{"os", "Exit", library, "it ends the program without cleaning up; return the error to main"},
}

// exitsOnPurpose are the functions that are a process's main by another name.
var exitsOnPurpose = []string{"SlotMain", "Main"}

func library(s *source) bool { return s.product() && s.file.Name.Name != "main" }

func TestBannedCalls(t *testing.T) { checkBannedCalls(t, theTree(t)) }

func checkBannedCalls(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		eachCall(s, func(function, importPath, name string, call *ast.CallExpr) {
			for _, rule := range callRules {
				if rule.importPath != importPath || rule.name != name || !rule.in(s) || name == "Exit" && slices.Contains(exitsOnPurpose, function) {
					continue
				}
				t.Errorf("%s: %s calls %s.%s; %s", tr.at(call), function, importPath, name, rule.why)
			}
		})
	}
}

// Skips go through testenv, which fails them in CI and collects the reasons.
func TestSkipsAreAccountedFor(t *testing.T) { checkSkips(t, theTree(t)) }

func checkSkips(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if !s.test && !within(s.dir, "test") || within(s.dir, "internal/testenv") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if cond, ok := n.(*ast.IfStmt); ok && asksForShort(cond.Cond) {
				return false // asked for on the command line
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "tb", "b", "s"}, x.Name) {
					t.Errorf("%s: %s.%s is silent without -v and skips in CI too; use testenv.Skip, or SkipArchitectural", tr.at(call), x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// A sleep in a test is right in a loop that looks at a condition, and where its
// line says what it is for; else it is a guess at how fast a machine is.
func TestNoTestWaitsByGuess(t *testing.T) { checkSleeps(t, theTree(t)) }

func checkSleeps(t testing.TB, tr *tree) {
	for _, s := range tr.all {
		if !s.test && !within(s.dir, "test") && !within(s.dir, "internal/testenv") {
			continue
		}
		explained := map[int]bool{} // lines with a comment
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				explained[tr.files.Position(c.Pos()).Line] = true
			}
		}
		var loops []ast.Node
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				loops = append(loops, n)
			}
			return true
		})
		eachCall(s, func(function, importPath, name string, call *ast.CallExpr) {
			if importPath != "time" || name != "Sleep" || explained[tr.files.Position(call.Pos()).Line] {
				return
			}
			for _, loop := range loops {
				if loop.Pos() < call.Pos() && call.End() < loop.End() {
					return
				}
			}
			t.Errorf("%s: %s waits for a guessed time, too long on a fast machine and too short on a loaded one; wait for an event, or testenv.Poll", tr.at(call), function)
		})
	}
}

func asksForShort(cond ast.Expr) bool {
	call, ok := cond.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Short"
}
