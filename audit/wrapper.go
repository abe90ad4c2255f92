package audit

import (
	"slices"
	"strings"
)

// wrapper describes a program that runs another, whose words follow its own.
type wrapper struct {
	// values are its flags of one letter that take a value.
	values string
	// long are its long flags that take a value in the next word.
	long []string
	// skip is how many operands of its own come before the other's words.
	skip int
	// assigns says that NAME=VALUE may come before them.
	assigns bool
	// looks are flags with which it runs nothing.
	looks string
	// script is the flag that gives it a text for a shell.
	script []string
	// stdin says that it adds what it reads to the other's words.
	stdin bool
	// only says that a command comes in its script flag and nowhere else.
	only bool
}

// wrappers are those that are seen through. What is not here is judged as it
// stands.
func wrappers() map[string]wrapper {
	return map[string]wrapper{
		"builtin":  {},
		"chroot":   {skip: 1, long: []string{"userspec", "groups"}},
		"chrt":     {skip: 1, values: "TPDp"},
		"command":  {looks: "vV"},
		"doas":     {values: "uC"},
		"env":      {values: "uC", long: []string{"unset", "chdir"}, assigns: true, script: []string{"S", "split-string"}},
		"exec":     {values: "a"},
		"fakeroot": {values: "lsibu", long: []string{"lib", "faked"}},
		"flock":    {skip: 1, values: "wE", long: []string{"timeout"}, script: []string{"c", "command"}},
		"ionice":   {values: "cnpPu", long: []string{"class", "classdata"}},
		"ltrace":   {values: "aeloFnpsuwx"},
		"nice":     {values: "n", long: []string{"adjustment"}},
		"nohup":    {},
		"nsenter":  {values: "tSGw", long: []string{"target"}},
		"parallel": {values: "jaISN", long: []string{"jobs"}, stdin: true},
		"prlimit":  {},
		"proot":    {values: "rbw"},
		"runuser":  {values: "ugGs", script: []string{"c", "command"}},
		"script":   {only: true, values: "EIOoBT", script: []string{"c", "command"}},
		"setarch":  {},
		"setpriv":  {long: []string{"reuid", "regid", "groups"}},
		"setsid":   {},
		"stdbuf":   {values: "ioe", long: []string{"input", "output", "error"}},
		"strace":   {values: "aeEIoOpPsSuUX"},
		"su":       {only: true, values: "gGs", script: []string{"c", "command"}},
		"sudo":     {values: "aCDghpRrTtUu", long: []string{"user", "group", "host", "prompt", "chdir"}, assigns: true, looks: "lvkK"},
		"taskset":  {skip: 1},
		"time":     {values: "fo", long: []string{"format", "output"}},
		"timeout":  {skip: 1, values: "ks", long: []string{"kill-after", "signal"}},
		"unshare":  {values: "RSGw"},
		"watch":    {values: "n", long: []string{"interval"}},
		"xargs":    {values: "aEILnPsd", long: []string{"arg-file", "delimiter", "replace", "max-lines", "max-args", "max-procs", "max-chars"}, stdin: true},
		"busybox":  {}, "toybox": {},
	}
}

// unwrap returns the commands that a command runs as its own work.
func (r *reading) unwrap(c *call) []*call {
	if c.name == "find" {
		return found(c)
	}
	w, ok := r.rules.wrappers[c.name]
	if !ok {
		return r.module(c)
	}
	inner := &call{stdin: c.stdin, fed: c.fed, part: c.part, whole: c.whole}
	rest := w.rest(c, inner)
	if rest == nil || w.only {
		return nil
	}
	if w.stdin {
		rest = filled(c, rest)
		inner.stdin, inner.fed = "", false
	}
	inner.name, inner.args = programName(rest[0]), rest[1:]
	return []*call{inner}
}

// module returns the program that python is told to run with -m.
func (r *reading) module(c *call) []*call {
	if !strings.HasPrefix(c.name, "python") && !strings.HasPrefix(c.name, "pypy") {
		return nil
	}
	for i, a := range c.args {
		switch {
		case a == "-m" && i+1 < len(c.args):
			return []*call{{name: c.args[i+1], args: c.args[i+2:], stdin: c.stdin, fed: c.fed, part: c.part, whole: c.whole}}
		case len(a) < 2 || a[0] != '-' || a == "-c":
			return nil
		}
	}
	return nil
}

// rest returns the words of the command that a wrapper runs, nil for none.
// What the wrapper assigns for it goes to inner.
func (w wrapper) rest(c, inner *call) []string {
	args, skip := c.args, w.skip
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			args = args[1:]
			return w.after(args, skip, inner)
		case len(a) > 1 && a[0] == '-':
			if !strings.HasPrefix(a, "--") && w.looks != "" && strings.ContainsAny(a[1:], w.looks) {
				return nil
			}
			args = args[1:]
			if w.takesNext(a) && len(args) > 0 {
				args = args[1:]
			}
		default:
			return w.after(args, skip, inner)
		}
	}
	return nil
}

// after skips a wrapper's own operands and assignments.
func (w wrapper) after(args []string, skip int, inner *call) []string {
	for w.assigns && len(args) > 0 {
		name, value, ok := strings.Cut(args[0], "=")
		if !ok || name == "" || strings.ContainsAny(name, "/ ") {
			break
		}
		inner.assigns = append(inner.assigns, assignment{name, value})
		args = args[1:]
	}
	if len(args) <= skip {
		if len(inner.assigns) == 0 {
			return nil
		}
		return []string{""} // assignments alone, to be judged as such
	}
	return args[skip:]
}

// takesNext reports whether the value of a flag is in the next word.
func (w wrapper) takesNext(flag string) bool {
	if long, ok := strings.CutPrefix(flag, "--"); ok {
		return slices.Contains(w.long, long)
	}
	i := strings.IndexAny(flag[1:], w.values)
	return w.values != "" && i >= 0 && i == len(flag)-2
}

// filled adds to a command's words what xargs reads, at the end or in the
// place that -I names.
func filled(c *call, words []string) []string {
	added := given(c)
	place, ok := c.value("I", "replace")
	if c.has("i") && !ok {
		place, ok = "{}", true
	}
	if c.name == "parallel" {
		place, ok = "{}", true
	}
	if !ok || place == "" {
		return append(slices.Clone(words), added...)
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ReplaceAll(w, place, strings.Join(added, " "))
	}
	return out
}

// given is what xargs adds: the words that it reads.
func given(c *call) []string {
	switch {
	case !c.fed:
		return nil
	case constant(c.stdin):
		return strings.Fields(c.stdin)
	}
	return []string{mark(origins(c.stdin))}
}

// found returns what find runs for what it finds. The names are not known,
// but where they begin is.
func found(c *call) (calls []*call) {
	var roots []string
	for _, a := range c.args {
		if strings.HasPrefix(a, "-") || a == "(" || a == "!" {
			break
		}
		roots = append(roots, a)
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	all := !filtered(c)
	for i := 0; i < len(c.args); i++ {
		switch c.args[i] {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(c.args) && c.args[end] != ";" && c.args[end] != "+" {
				end++
			}
			var words []string
			for _, a := range c.args[i+1 : end] {
				if a == "{}" && all {
					words = append(words, roots...)
				} else {
					words = append(words, strings.ReplaceAll(a, "{}", mark(unknown)))
				}
			}
			if len(words) > 0 {
				args := words[1:]
				if programName(words[0]) == "rm" && all { // of each file, wherever it is
					args = append([]string{"-r"}, args...)
				}
				calls = append(calls, &call{name: programName(words[0]), args: args, part: c.part, whole: c.whole})
			}
			i = end
		case "-delete":
			if all {
				calls = append(calls, &call{name: "rm", args: append([]string{"-rf"}, roots...), part: c.part, whole: c.whole})
			}
		}
	}
	return calls
}

// filtered reports whether find picks what it finds by its name or the like.
func filtered(c *call) bool {
	for i, a := range c.args {
		if strings.HasSuffix(a, "name") && i+1 < len(c.args) && c.args[i+1] == "*" {
			continue // no filter
		}
		switch a {
		case "-prune", "-mindepth", "-newermt", "-inum", "-links", "-iregex", "-ipath", "-wholename", "-group", "-nouser",
			"-name", "-iname", "-path", "-regex", "-newer", "-mtime", "-mmin", "-size", "-user", "-empty", "-maxdepth", "-atime", "-ctime", "-perm":
			return true
		}
	}
	return false
}
