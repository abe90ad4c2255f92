package audit

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// outputOf is what statements write, as far as it can be told: the text where
// all of it is in the command, else marks of where it comes from.
func (r *reading) outputOf(stmts []*syntax.Stmt) string {
	if r.depth >= maxDepth || !r.spend() {
		return mark(interpreted) // the strict side
	}
	return strings.TrimRight(r.quiet(func(q *reading) string { return q.outputs(stmts, input{}) }), "\n")
}

// quiet works something out that leaves nothing behind: no variable, and no
// finding, which is another pass's.
func (r *reading) quiet(f func(*reading) string) string {
	q := r.inner()
	q.judging = &judging{rules: r.rules, work: r.work, spent: r.spent}
	defer func() { r.work = q.work }()
	return f(q)
}

func (r *reading) outputs(stmts []*syntax.Stmt, in input) string {
	var b strings.Builder
	for _, s := range stmts {
		b.WriteString(r.output(s, in))
		if b.Len() > textLimit {
			return mark(origins(b.String()))
		}
	}
	return b.String()
}

// textLimit bounds the text that is followed through pipes, in bytes.
const textLimit = 16 << 10

// output is what one statement writes.
func (r *reading) output(s *syntax.Stmt, in input) string {
	if s == nil || s.Cmd == nil || r.depth > maxDepth || !r.spend() {
		return ""
	}
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range x.Assigns {
			if len(x.Args) == 0 && a.Name != nil && a.Value != nil {
				r.vars.set(a.Name.Value, r.text(a.Value))
			}
		}
		return r.outputOfCall(r.callOf(s, x, in))
	case *syntax.BinaryCmd:
		if x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
			for _, stage := range pipeline(x) {
				in = input{text: r.output(stage, in), given: true}
			}
			return in.text
		}
		return r.output(x.X, in) + r.output(x.Y, in)
	case *syntax.Block:
		return r.outputs(x.Stmts, in)
	case *syntax.Subshell:
		return r.outputs(x.Stmts, in)
	case *syntax.TimeClause:
		return r.output(x.Stmt, in)
	case *syntax.IfClause:
		out := ""
		for ; x != nil; x = x.Else {
			out += r.outputs(x.Then, in)
		}
		return mark(origins(out))
	case *syntax.WhileClause:
		return mark(origins(r.outputs(x.Do, in) + in.text))
	case *syntax.ForClause:
		return mark(origins(r.outputs(x.Do, in)))
	case *syntax.CaseClause:
		out := ""
		for _, item := range x.Items {
			out += r.outputs(item.Stmts, in)
		}
		return mark(origins(out))
	}
	return ""
}

// outputOfCall is what a simple command writes.
func (r *reading) outputOfCall(c *call) string {
	if c.name == "" {
		return ""
	}
	if inner := r.unwrap(c); len(inner) > 0 {
		out := ""
		for _, i := range inner {
			out += r.outputOfCall(i)
		}
		return out
	}
	if body, ok := r.funcs[c.name]; ok && r.depth < maxDepth {
		q := r.inner()
		q.funcs = maps.Clone(r.funcs)
		delete(q.funcs, c.name)
		q.parameters(c.args)
		return q.output(body, c.input())
	}
	switch c.name {
	case "echo":
		return echoed(c)
	case "printf":
		return printed(c)
	case "cat", "tee":
		if len(c.operands()) == 0 || c.name == "tee" {
			return c.stdin
		}
		return mark(origins(strings.Join(c.operands(), "")) | origins(c.stdin))
	}
	o := unknown | origins(c.stdin)
	switch {
	case origins(c.name)&risky != 0:
		o |= origins(c.name)
	case r.rules.in("download", c.name):
		o |= downloaded
	case r.rules.in("interpreter", c.name), r.rules.in("shell", c.name):
		if inline(c) {
			o |= interpreted
		}
	case r.decodes(c):
		o |= decoded
	}
	return mark(o)
}

// inline reports whether an interpreter's program is in the command, or given
// to it to read, and not in a file.
func inline(c *call) bool {
	for i, a := range c.args {
		if len(a) < 2 || a[0] != '-' {
			return isInput(a)
		}
		if _, ok := codeOf(c.args[i:]); ok {
			return true
		}
	}
	return c.fed
}

// decodes reports whether a call turns what hides a text into the text.
func (r *reading) decodes(c *call) bool {
	switch {
	case r.rules.in("decoder", c.name):
		return c.has("d") || c.has("D") || c.has("decode")
	case c.name == "xxd":
		return c.has("r")
	case c.name == "openssl":
		return c.has("d")
	case c.name == "rev", c.name == "tr": // of a text that is in the command
		return c.stdin != "" && constant(c.stdin)
	}
	return c.name == "uudecode"
}

func echoed(c *call) string {
	args, escapes, newline := c.args, false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0], "e")
		if strings.Contains(args[0], "n") {
			newline = ""
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		text = unescaped("%b", text)
	}
	return text + newline
}

func printed(c *call) string {
	args := c.args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	return unescaped(args[0], args[1:]...)
}

// unescaped is what printf(1) makes of a format; all of it as it stands where
// that cannot be told.
func unescaped(format string, args ...string) (text string) {
	asIs := format + " " + strings.Join(args, " ")
	defer func() {
		if recover() != nil {
			text = asIs
		}
	}()
	var b strings.Builder
	for range max(len(args), 1) { // the format is used again for what is left
		out, used, err := expand.Format(nil, format, args)
		if err != nil {
			return asIs
		}
		b.WriteString(out)
		if used == 0 || used >= len(args) || b.Len() > textLimit {
			break
		}
		args = args[used:]
	}
	return b.String()
}
