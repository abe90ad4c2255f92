package audit

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// reading is one pass over a command, or over a text within it that a shell
// will read. It goes through the statements in their order, as the shell
// would, with the variables and the directory that the command itself sets.
type reading struct {
	*judging
	command string
	vars    variables
	// cwd is the working directory, "" where it cannot be told.
	cwd   string
	funcs map[string]*syntax.Stmt
	depth int
	loops int // that this is within
}

// judging is what all readings of one command share.
type judging struct {
	rules    *Rules
	findings []Finding
	unparsed bool
	work     int
	spent    bool
	programs map[string]bool // in other languages, that were looked at
}

const (
	// maxWork bounds the simple commands looked at, repeated ones counted.
	maxWork = 3000
	// bytesPerStep is how much text counts as one step.
	bytesPerStep = 64
	// maxDepth bounds texts within texts, and calls of functions.
	maxDepth = 12
	// maxItems bounds how often the body of a loop is looked at.
	maxItems = 24
)

// spend takes one step of the work, and reports whether there was one left.
func (j *judging) spend() bool {
	if j.spent {
		return false
	}
	if j.work++; j.work >= maxWork {
		j.spent = true
		j.engine("too-complex", "")
	}
	return !j.spent
}

// input is what a command reads.
type input struct {
	text  string
	given bool
	// whole is the text of the pipeline that it comes through.
	whole string
}

// read judges a text as shell.
func (r *reading) read(text string, in input) {
	stmts, rest := parse(text)
	r.command = text
	r.stmts(stmts, in)
	if strings.TrimSpace(rest) != "" {
		r.unparsed = true
		r.lexical(rest)
	}
}

// inner is a reading that leaves nothing behind in this one, as a subshell.
func (r *reading) inner() *reading {
	sub := *r
	sub.vars, sub.depth = r.vars.clone(), r.depth+1
	return &sub
}

// again reads a text that is run as shell within a command.
func (r *reading) again(text string, in input) {
	if r.depth >= maxDepth {
		r.engine("too-complex", show(text))
		return
	}
	r.work += len(text) / bytesPerStep
	sub := r.inner()
	sub.read(text, in)
}

func (r *reading) stmts(list []*syntax.Stmt, in input) {
	for _, s := range list {
		r.stmt(s, in)
	}
}

func (r *reading) stmt(s *syntax.Stmt, in input) {
	if s == nil || r.depth > maxDepth || !r.spend() {
		return
	}
	if x, ok := s.Cmd.(*syntax.CallExpr); ok {
		r.simple(s, x, in)
		return
	}
	outer := &call{stdin: in.text, fed: in.given, part: r.source(s)}
	r.substitutions(redirWords(s.Redirs)...)
	r.redirect(outer, s.Redirs)
	r.check(outer)
	in = input{outer.stdin, outer.fed, in.whole}
	switch x := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		r.binary(x, s, in)
	case *syntax.Block:
		r.stmts(x.Stmts, in)
	case *syntax.Subshell:
		r.inner().stmts(x.Stmts, in)
	case *syntax.IfClause:
		for ; x != nil; x = x.Else {
			r.stmts(x.Cond, in)
			r.stmts(x.Then, in)
		}
	case *syntax.WhileClause:
		r.endless(x, s)
		r.stmts(x.Cond, in)
		r.stmts(x.Do, in)
	case *syntax.ForClause:
		r.loop(x, s, in)
	case *syntax.CaseClause:
		r.substitutions(x.Word)
		for _, item := range x.Items {
			r.substitutions(item.Patterns...)
			r.stmts(item.Stmts, in)
		}
	case *syntax.FuncDecl:
		r.function(x, s)
	case *syntax.DeclClause:
		r.declare(x, outer)
	case *syntax.TimeClause:
		r.stmt(x.Stmt, in)
	case *syntax.CoprocClause:
		r.stmt(x.Stmt, in)
	case *syntax.TestDecl:
		r.stmt(x.Body, in)
	case nil:
	default: // arithmetic and tests run what is substituted in them
		r.within(x)
	}
}

func redirWords(redirs []*syntax.Redirect) (words []*syntax.Word) {
	for _, d := range redirs {
		words = append(words, d.Word, d.Hdoc)
	}
	return words
}

// binary reads a pipeline or a list. What a command of a pipeline does to the
// shell is lost.
func (r *reading) binary(x *syntax.BinaryCmd, s *syntax.Stmt, in input) {
	if x.Op != syntax.Pipe && x.Op != syntax.PipeAll {
		r.stmt(x.X, in)
		r.stmt(x.Y, in)
		return
	}
	if in.whole == "" {
		in.whole = r.source(s)
	}
	stages := pipeline(x)
	for i, stage := range stages {
		r.inner().stmt(stage, in)
		if i+1 < len(stages) {
			in = input{r.quiet(func(q *reading) string { return q.output(stage, in) }), true, in.whole}
		}
	}
}

// pipeline is the commands of a pipeline, in their order.
func pipeline(x *syntax.BinaryCmd) []*syntax.Stmt {
	stages := []*syntax.Stmt{x.Y}
	for s := x.X; ; {
		inner, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || inner.Op != syntax.Pipe && inner.Op != syntax.PipeAll || len(s.Redirs) > 0 || s.Negated {
			stages = append(stages, s)
			break
		}
		stages = append(stages, inner.Y)
		s = inner.X
	}
	slices.Reverse(stages)
	return stages
}

func (r *reading) loop(x *syntax.ForClause, s *syntax.Stmt, in input) {
	r.endless(x, s)
	iter, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		r.within(x.Loop)
		r.stmts(x.Do, in)
		return
	}
	r.substitutions(iter.Items...)
	items := r.fields(iter.Items...)
	r.loops++
	for _, item := range telling(items, max(maxItems>>(2*(r.loops-1)), 2)) {
		r.vars.set(iter.Name.Value, item)
		r.stmts(x.Do, in)
	}
	r.loops--
}

// telling picks the items of a loop whose bodies are worth a look: those that
// may be paths, flags or unknown come first, of plain words the last stands
// for all that are too many.
func telling(items []string, most int) []string {
	if len(items) == 0 {
		return []string{mark(unknown)}
	}
	slices.SortStableFunc(items, func(a, b string) int { return weight(b) - weight(a) })
	items = slices.Compact(items)
	return items[:min(len(items), most)]
}

func weight(item string) int {
	if strings.ContainsAny(item, "/~-*?[") || !constant(item) {
		return 1
	}
	return 0
}

func (r *reading) function(x *syntax.FuncDecl, s *syntax.Stmt) {
	if x.Name == nil || x.Body == nil {
		return
	}
	if spawnsItself(x) {
		r.engine("fork-bomb", r.source(s))
	}
	funcs := map[string]*syntax.Stmt{x.Name.Value: x.Body}
	for name, body := range r.funcs {
		if name != x.Name.Value {
			funcs[name] = body
		}
	}
	r.funcs = funcs
	sub := r.inner()
	sub.funcs = nil // a body that calls itself is read once
	sub.stmt(x.Body, input{})
}

// invoke reads the body of a function that the command made, with the
// arguments of this call.
func (r *reading) invoke(body *syntax.Stmt, c *call) {
	if r.depth >= maxDepth {
		return
	}
	sub := r.inner()
	sub.funcs = maps.Clone(r.funcs)
	delete(sub.funcs, c.name) // one that calls itself is read once
	sub.parameters(c.args)
	sub.stmt(body, c.input())
	r.cwd = sub.cwd
}

// parameters sets the positional parameters.
func (r *reading) parameters(args []string) {
	for i, a := range args[:min(len(args), 9)] {
		r.vars.set(string(rune('1'+i)), a)
	}
	r.vars.setList("@", args)
	r.vars.setList("*", args)
}

// made reports whether a command's name is what another writes, and not only a
// part of a name.
func made(name string) bool {
	return origins(name)&risky != 0 && strings.TrimFunc(name, func(x rune) bool { return isMark(x) || unicode.IsSpace(x) }) == ""
}

func (r *reading) declare(x *syntax.DeclClause, outer *call) {
	c := &call{name: x.Variant.Value, part: outer.part}
	for _, a := range x.Args {
		if a.Name == nil { // a flag, or a name that is made up
			if a.Value != nil {
				r.substitutions(a.Value)
				for _, f := range r.fields(a.Value) {
					if name, value, ok := strings.Cut(f, "="); ok {
						c.assigns = append(c.assigns, assignment{name, value})
						r.vars.set(name, value)
						continue
					}
					c.args = append(c.args, f)
				}
			}
			continue
		}
		r.assign(a)
		if !a.Naked {
			c.assigns = append(c.assigns, r.assignment(a))
		}
	}
	r.check(c)
}

// assign remembers an assignment.
func (r *reading) assign(a *syntax.Assign) {
	if a.Value != nil {
		r.substitutions(a.Value)
	}
	if a.Name == nil || a.Naked {
		return
	}
	if a.Index != nil {
		r.within(a.Index)
	}
	switch {
	case a.Array != nil:
		var words []*syntax.Word
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				r.within(e.Index)
			}
			if e.Value != nil {
				words = append(words, e.Value)
			}
		}
		r.substitutions(words...)
		var list []string
		if a.Append {
			list = slices.Clone(r.vars[a.Name.Value].List)
		}
		r.vars.setList(a.Name.Value, append(list, r.fields(words...)...))
	case a.Index != nil:
		r.vars.set(a.Name.Value, mark(origins(r.text(a.Value))))
	case a.Append:
		before := ""
		if v, ok := r.vars[a.Name.Value]; ok {
			before = v.String()
		} else if r.vars.Get(a.Name.Value).Kind == expand.String {
			before = r.vars.Get(a.Name.Value).Str
		}
		r.vars.set(a.Name.Value, before+r.text(a.Value))
	default:
		r.vars.set(a.Name.Value, r.text(a.Value))
	}
}

// simple reads a simple command.
func (r *reading) simple(s *syntax.Stmt, x *syntax.CallExpr, in input) {
	for _, a := range x.Assigns {
		if len(x.Args) == 0 {
			r.assign(a)
			continue
		}
		if a.Value != nil {
			r.substitutions(a.Value)
		}
	}
	r.substitutions(x.Args...)
	r.substitutions(redirWords(s.Redirs)...)
	r.run(r.callOf(s, x, in))
}

// run judges a simple command, and what it runs in turn.
func (r *reading) run(c *call) {
	if !r.spend() {
		return
	}
	r.check(c)
	if c.name == "" {
		return
	}
	if made(c.name) {
		r.engine("substituted-command", c.part)
		return
	}
	if !constant(c.name) && c.fed && origins(c.stdin)&(downloaded|decoded) != 0 {
		r.engine("fed-interpreter", c.feed()) // it may be any program
	}
	if c.name == "set" && len(c.args) > 1 && c.args[0] == "--" {
		r.parameters(c.args[1:])
	}
	if body, ok := r.funcs[c.name]; ok {
		r.invoke(body, c)
		return
	}
	r.enter(c)
	r.input(c)
	for _, inner := range r.unwrap(c) {
		if inner.depth = c.depth + 1; inner.depth > maxDepth {
			r.engine("too-complex", c.part)
			return
		}
		r.run(inner)
	}
	r.interpret(c)
}

// enter follows a change of the directory.
func (r *reading) enter(c *call) {
	if c.name != "cd" && c.name != "pushd" {
		return
	}
	target := home
	if operands := c.operands(); len(operands) > 0 {
		target = operands[0]
	}
	if slices.Contains(c.args, "-") || !constant(target) {
		r.cwd = ""
		return
	}
	r.cwd = r.path(target)
}

// input remembers what variables are read.
func (r *reading) input(c *call) {
	if !r.rules.in("reads-variables", c.name) {
		return
	}
	for _, name := range c.operands() {
		switch {
		case !c.fed || !syntax.ValidName(name):
		case constant(c.stdin):
			r.vars.set(name, strings.TrimSpace(c.stdin))
		default:
			r.vars.set(name, mark(origins(c.stdin)))
		}
	}
}

// path makes an operand absolute, as far as the directory is known, and
// simplifies it. What begins with "~" stays so.
func (r *reading) path(operand string) string {
	switch {
	case operand == "":
		return ""
	case strings.HasPrefix(operand, home):
		if strings.Contains(operand, "..") {
			return path.Clean(workspace + operand[len(home):])
		}
		return path.Clean(operand)
	case strings.HasPrefix(operand, "/"):
		return path.Clean(operand)
	case r.cwd == "":
		return path.Clean("./" + operand)
	}
	return r.path(r.cwd + "/" + operand)
}

// substitutions reads the commands that words run.
func (r *reading) substitutions(words ...*syntax.Word) {
	for _, w := range words {
		if w != nil {
			r.within(w)
		}
	}
}

// within reads the commands that are substituted anywhere in a node.
func (r *reading) within(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			r.inner().stmts(x.Stmts, input{})
			return false
		case *syntax.ProcSubst:
			in := input{}
			if x.Op == syntax.CmdOut { // it reads what the command writes
				in = input{text: mark(downloaded), given: true}
			}
			r.inner().stmts(x.Stmts, in)
			return false
		}
		return true
	})
}
