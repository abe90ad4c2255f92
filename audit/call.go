package audit

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is one simple command with everything that is known of it.
type call struct {
	// name is the last element of the program's path. It may hold glob
	// characters, and a mark where it cannot be told.
	name string
	args []string
	// assigns are the assignments before it, or of it.
	assigns []assignment
	// reads and writes are targets of redirections.
	reads, writes []string
	// stdin is what it is given to read, "" if nothing is known to be given.
	stdin string
	// fed says that something is: a pipe, a here-document or a here-string.
	fed bool
	// part is its text, whole that of the pipeline that it is in.
	part, whole string
	// depth is how many commands it is wrapped in.
	depth int
}

type assignment struct{ name, value string }

// input is what the command reads.
func (c *call) input() input { return input{c.stdin, c.fed, c.whole} }

// feed is the text of what gives the command its program.
func (c *call) feed() string {
	if c.whole != "" {
		return c.whole
	}
	return c.part
}

// programName is the last element of a program's path.
func programName(word string) string {
	if word == "" {
		return ""
	}
	return path.Base(word)
}

// split separates what begins with a dash from the rest. After "--" all is
// rest.
func split(args []string) (flags, operands []string) {
	for i, a := range args {
		switch {
		case a == "--":
			return flags, append(operands, args[i+1:]...)
		case len(a) > 1 && a[0] == '-':
			flags = append(flags, a)
		default:
			operands = append(operands, a)
		}
	}
	return flags, operands
}

func (c *call) flags() []string    { f, _ := split(c.args); return f }
func (c *call) operands() []string { _, o := split(c.args); return o }

// has reports whether a flag is given: one letter, alone or among others, or
// a long name, which may be shortened.
func (c *call) has(flag string) bool {
	for _, f := range c.flags() {
		long, isLong := strings.CutPrefix(f, "--")
		switch {
		case isLong:
			long, _, _ = strings.Cut(long, "=")
			if len(flag) > 1 && long != "" && strings.HasPrefix(flag, long) {
				return true
			}
		case len(flag) == 1:
			if strings.Contains(f[1:], flag) {
				return true
			}
		case f[1:] == flag: // one dash, long name, as find and java have it
			return true
		}
	}
	return false
}

// value is what follows a flag, in one word with it or in the next. A flag of
// one letter may come last among others (-so FILE).
func (c *call) value(flags ...string) (string, bool) {
	for i, a := range c.args {
		if a == "--" {
			break
		}
		next := func() (string, bool) {
			if i+1 < len(c.args) {
				return c.args[i+1], true
			}
			return "", false
		}
		for _, f := range flags {
			switch long, isLong := strings.CutPrefix(a, "--"); {
			case isLong && len(f) > 1:
				name, value, joined := strings.Cut(long, "=")
				if name == "" || !strings.HasPrefix(f, name) {
					continue
				}
				if joined {
					return value, true
				}
				return next()
			case !isLong && len(f) == 1 && len(a) > 1 && a[0] == '-':
				at := strings.Index(a[1:], f)
				if at < 0 {
					continue
				}
				if rest := a[1+at+1:]; rest != "" {
					return strings.TrimPrefix(rest, "="), true
				}
				return next()
			}
		}
	}
	return "", false
}

// callOf resolves the parts of a simple command.
func (r *reading) callOf(s *syntax.Stmt, x *syntax.CallExpr, in input) *call {
	c := &call{stdin: in.text, fed: in.given, part: r.source(s), whole: in.whole}
	for _, a := range x.Assigns {
		c.assigns = append(c.assigns, r.assignment(a))
	}
	if words := r.fields(x.Args...); len(words) > 0 {
		c.name, c.args = programName(words[0]), words[1:]
	}
	r.redirect(c, s.Redirs)
	return c
}

func (r *reading) assignment(a *syntax.Assign) assignment {
	name := ""
	if a.Name != nil {
		name = a.Name.Value
	}
	switch {
	case a.Array != nil:
		var words []*syntax.Word
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				words = append(words, e.Value)
			}
		}
		return assignment{name, strings.Join(r.fields(words...), " ")}
	case a.Value != nil:
		return assignment{name, r.text(a.Value)}
	}
	return assignment{name, ""}
}

// redirect adds what redirections say.
func (r *reading) redirect(c *call, redirs []*syntax.Redirect) {
	for _, d := range redirs {
		target := r.text(d.Word)
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			c.stdin, c.fed = r.document(d.Hdoc), true
		case syntax.WordHdoc:
			c.stdin, c.fed = target, true
		case syntax.RdrIn:
			c.reads = append(c.reads, target)
			if o := origins(target); o != 0 {
				c.stdin, c.fed = mark(o), true
			}
		case syntax.RdrInOut:
			c.reads, c.writes = append(c.reads, target), append(c.writes, target)
		case syntax.DplIn:
		case syntax.DplOut:
			if strings.Trim(target, "0123456789-") != "" {
				c.writes = append(c.writes, target)
			}
		default:
			c.writes = append(c.writes, target)
		}
	}
}
