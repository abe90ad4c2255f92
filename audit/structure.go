package audit

import (
	"mvdan.cc/sh/v3/syntax"
)

// spawnsItself reports whether a function starts itself in the background or
// on both sides of a pipe.
func spawnsItself(f *syntax.FuncDecl) bool {
	name := f.Name.Value
	found := false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Stmt:
			found = found || x.Background && calls(x, name)
		case *syntax.BinaryCmd:
			if x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
				found = found || calls(x.X, name) && calls(x.Y, name)
			}
		}
		return !found
	})
	return found
}

// calls reports whether a command of this name is anywhere in a node.
func calls(n syntax.Node, names ...string) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.CallExpr); ok && len(x.Args) > 0 {
			for _, name := range names {
				found = found || x.Args[0].Lit() == name
			}
		}
		return !found
	})
	return found
}

// endless judges a loop without an end that starts processes without waiting
// for any.
func (r *reading) endless(loop syntax.Node, s *syntax.Stmt) {
	var body []*syntax.Stmt
	switch x := loop.(type) {
	case *syntax.WhileClause:
		if !forever(x) {
			return
		}
		body = x.Do
	case *syntax.ForClause:
		style, ok := x.Loop.(*syntax.CStyleLoop)
		if !ok || style.Cond != nil {
			return
		}
		body = x.Do
	}
	spawns := false
	for _, s := range body {
		spawns = spawns || inBackground(s)
		if calls(s, "sleep", "wait", "read", "break", "exit", "return", "inotifywait", "usleep") {
			return
		}
	}
	if spawns {
		r.engine("endless-spawn", r.source(s))
	}
}

// inBackground reports whether a statement starts something in the background.
func inBackground(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.FuncDecl:
			return false
		case *syntax.Stmt:
			found = found || x.Background
		}
		return !found
	})
	return found
}

// forever reports whether a loop's condition never ends it.
func forever(x *syntax.WhileClause) bool {
	if len(x.Cond) != 1 {
		return false
	}
	switch c := x.Cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return false
		}
		switch c.Args[0].Lit() {
		case "true", ":":
			return !x.Until
		case "false":
			return x.Until
		case "[", "test":
			return !x.Until && len(c.Args) > 1 && c.Args[1].Lit() == "1" && len(c.Args) <= 3
		}
	case *syntax.ArithmCmd:
		w, ok := c.X.(*syntax.Word)
		return ok && !x.Until && w.Lit() == "1"
	}
	return false
}
