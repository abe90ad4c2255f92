package audit

import (
	"strings"
)

// interpret judges a text that a command is given to run.
func (r *reading) interpret(c *call) {
	switch c.name {
	case "eval":
		r.shellText(c, strings.Join(c.args, " "))
		return
	case "source", ".":
		r.sourced(c)
		return
	case "trap":
		if len(c.args) > 1 {
			r.shellText(c, c.args[0])
		}
		return
	case "alias":
		for _, a := range c.args {
			if _, value, ok := strings.Cut(a, "="); ok {
				r.shellText(c, value)
			}
		}
		return
	case "watch":
		r.shellText(c, strings.Join(c.operands(), " "))
		return
	}
	if w, ok := r.rules.wrappers[c.name]; ok && len(w.script) > 0 {
		if text, ok := c.value(w.script...); ok {
			r.shellText(c, text)
		}
		return
	}
	switch {
	case strings.HasSuffix(c.name, "awk"):
		if operands := c.operands(); len(operands) > 0 {
			r.code(c, operands[0])
		}
	case r.rules.in("shell", c.name):
		r.shell(c)
	case r.rules.in("interpreter", c.name):
		r.interpreter(c)
	}
}

// shellText judges a text that a shell will read.
func (r *reading) shellText(c *call, text string) {
	if origins(text)&risky != 0 {
		r.engine("fed-interpreter", c.feed())
		return
	}
	if strings.TrimSpace(text) != "" {
		r.again(text, c.input())
	}
}

// sourced judges `source FILE`. Of files nothing is known but where they come
// from.
func (r *reading) sourced(c *call) {
	if len(c.args) == 0 {
		return
	}
	switch file := c.args[0]; {
	case origins(file)&risky != 0:
		r.engine("fed-interpreter", c.feed())
	case file == "/dev/stdin" || file == "/proc/self/fd/0":
		r.program(c)
	}
}

// shell judges a call of a shell: the text of -c, a script, or its input.
func (r *reading) shell(c *call) {
	args, takesCode, takesInput := c.args, false, false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
		case a == "--rcfile" || a == "--init-file":
			if len(args) > 0 {
				if origins(args[0])&risky != 0 {
					r.engine("fed-interpreter", c.feed())
				}
				args = args[1:]
			}
			continue
		case !strings.HasPrefix(a, "--"):
			takesCode = takesCode || strings.Contains(a, "c")
			takesInput = takesInput || strings.Contains(a, "s")
			if strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O") {
				args = args[min(1, len(args)):]
			}
			continue
		default:
			continue
		}
		break
	}
	switch {
	case takesCode:
		if len(args) > 0 {
			r.shellText(c, args[0])
		}
	case len(args) == 0 || takesInput || args[0] == "-" || args[0] == "/dev/stdin":
		r.program(c)
	case origins(args[0])&risky != 0:
		r.engine("fed-interpreter", c.feed())
	}
}

// program judges the input of a shell that reads its commands from there.
func (r *reading) program(c *call) {
	switch {
	case !c.fed:
	case origins(c.stdin)&risky != 0:
		r.engine("fed-interpreter", c.feed())
	case strings.TrimSpace(c.stdin) != "" && strings.TrimFunc(c.stdin, func(x rune) bool { return isMark(x) || x == '\n' }) == "":
		r.engine("piped-shell", c.feed())
	default:
		r.again(c.stdin, input{})
	}
}

// interpreter judges a call of another interpreter.
func (r *reading) interpreter(c *call) {
	for i, a := range c.args {
		if len(a) < 2 || a[0] != '-' {
			if origins(a)&risky != 0 {
				r.engine("fed-interpreter", c.feed())
			}
			if a != "-" && a != "/dev/stdin" {
				return // a script: what is read is data
			}
			break
		}
		code, ok := codeOf(c.args[i:])
		if !ok {
			continue
		}
		if origins(code)&risky != 0 {
			r.engine("fed-interpreter", c.feed())
			return
		}
		r.code(c, code)
		return
	}
	switch {
	case !c.fed:
	case origins(c.stdin)&risky != 0:
		r.engine("fed-interpreter", c.feed())
	default:
		r.code(c, c.stdin)
	}
}

// codeOf returns the text that the first of some arguments, a flag, brings.
func codeOf(args []string) (string, bool) {
	flag, rest := args[0], args[1:]
	if long, ok := strings.CutPrefix(flag, "--"); ok {
		name, value, joined := strings.Cut(long, "=")
		switch {
		case name != "eval" && name != "print" && name != "run":
			return "", false
		case joined:
			return value, true
		}
	} else if !strings.ContainsAny(flag[len(flag)-1:], "ceEpr") {
		return "", false
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 {
		return "", false
	}
	return rest[0], true
}

var (
	// pathInCode finds what looks like an absolute path in a program.
	pathInCode = lazy(`[/~][\w./*~+-]*`)
	// shellInCode finds texts that a program gives to a shell.
	shellInCode = lazy(`(?:system|popen|exec|execSync|call|run|check_output|check_call|getoutput|shell_exec|spawn|spawnSync|passthru|qx)\s*\(?\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')`)
	// forksInCode finds processes that make processes for ever.
	forksInCode = lazy(`fork\s+while\s+fork|while\s*\(?\s*(?:1|[Tt]rue)\b[^#]{0,40}\bfork\b`)
)

// code judges a program in another language by what it names.
func (r *reading) code(c *call, text string) {
	for _, p := range pathInCode().FindAllString(text, maxItems) {
		r.check(&call{name: c.name, reads: []string{p}, part: c.part})
	}
	for _, m := range shellInCode().FindAllStringSubmatch(text, maxItems) {
		r.again(m[1]+m[2], input{})
	}
	if forksInCode().MatchString(text) {
		r.engine("fork-bomb", c.part)
	}
}
