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
		if args := c.operands(); len(args) > 1 {
			r.shellText(c, args[0])
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
		w := r.rules.wrappers["watch"]
		r.shellText(c, strings.Join(w.rest(c, &call{}), " "))
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
	if made(text) {
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
	case isInput(file):
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
			sub := r.inner()
			sub.parameters(args[min(2, len(args)):])
			for _, a := range c.assigns {
				sub.vars.set(a.name, a.value)
			}
			sub.depth = r.depth // again goes deeper itself
			sub.shellText(c, args[0])
		}
	case len(args) == 0 || takesInput || isInput(args[0]):
		r.program(c)
	case origins(args[0])&risky != 0:
		r.engine("fed-interpreter", c.feed())
	}
}

// isInput reports whether a file is what a command is given to read.
func isInput(file string) bool {
	switch file {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	}
	return false
}

// program judges the input of a shell that reads its commands from there.
func (r *reading) program(c *call) {
	switch {
	case !c.fed:
	case made(c.stdin):
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
			if !isInput(a) {
				return // a script: what is read is data
			}
			break
		}
		code, ok := codeOf(c.args[i:])
		if !ok {
			continue
		}
		r.foreign(c, code)
		return
	}
	if c.fed {
		r.foreign(c, c.stdin)
	}
}

// foreign judges a program in another language, parts of which may come from
// elsewhere: as a text in it they are data, unless it runs them.
func (r *reading) foreign(c *call, code string) {
	if made(code) || origins(code)&risky != 0 && runsText().MatchString(code) {
		r.engine("fed-interpreter", c.feed())
		return
	}
	r.code(c, code)
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
	// readInCode finds absolute paths that a program reads.
	readInCode = lazy(`(?:\b(?:open|fopen|read\w*|cat|head|tail|strings|Path|load\w*|copy\w*|file_get_contents|slurp|IO\.\w+|File\.\w+)\b|<)[\s("'r]*([/~][\w./*~+-]*)`)
	// shellInCode finds texts that a program gives to a shell.
	shellInCode = lazy(`(?:system|popen|exec|execSync|call|run|check_output|check_call|getoutput|shell_exec|spawn|spawnSync|passthru|qx)\s*\(?\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')`)
	// listInCode finds commands that a program gives as a list of words.
	listInCode = lazy(`(?:run|Popen|call|check_call|check_output|execvp?|spawn(?:Sync)?)\s*\(\s*\[([^\]]*)\]`)
	quotedWord = lazy(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'`)
	// treeInCode finds trees that a program removes.
	treeInCode = lazy(`(?:rmtree|rm_rf|rm_r|remove_entry_secure|rimraf)\s*\(?\s*["']([^"']*)["']`)
	// runsText finds programs that run a text.
	runsText = lazy(`\b(?:exec|eval|compile|system|popen|Function)\b`)
	// forksInCode finds processes that make processes for ever.
	forksInCode = lazy(`fork\s+while\s+fork|while\s*\(?\s*(?:1|[Tt]rue)\b[^#]{0,40}\bfork\b|loop\s*\{\s*fork`)
)

// code judges a program in another language by what it names. Each text is
// looked at once.
func (r *reading) code(c *call, text string) {
	if r.programs[text] {
		return
	}
	if r.programs == nil {
		r.programs = map[string]bool{}
	}
	r.programs[text] = true
	r.work += len(text) / bytesPerStep
	for _, m := range readInCode().FindAllStringSubmatch(text, maxItems) {
		r.check(&call{name: c.name, reads: []string{m[1]}, part: c.part})
	}
	for _, m := range shellInCode().FindAllStringSubmatch(text, maxItems) {
		r.again(m[1]+m[2], input{})
	}
	for _, m := range listInCode().FindAllStringSubmatch(text, maxItems) {
		var words []string
		for _, w := range quotedWord().FindAllStringSubmatch(m[1], maxItems) {
			words = append(words, w[1]+w[2])
		}
		if len(words) > 0 {
			r.run(&call{name: programName(words[0]), args: words[1:], part: c.part, depth: c.depth + 1})
		}
	}
	for _, m := range treeInCode().FindAllStringSubmatch(text, maxItems) {
		r.check(&call{name: "rm", args: []string{"-rf", m[1]}, part: c.part})
	}
	if forksInCode().MatchString(text) {
		r.engine("fork-bomb", c.part)
	}
}
