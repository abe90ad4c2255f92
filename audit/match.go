package audit

import (
	"strconv"
	"strings"
)

// check notes every rule that a command meets.
func (r *reading) check(c *call) {
	if c.name == "" && len(c.assigns)+len(c.reads)+len(c.writes) == 0 {
		return
	}
	r.work += len(c.args) / argsPerStep
	f := &facts{r: r, c: c}
	name := show(c.name)
	for i := range r.rules.ready {
		m := &r.rules.ready[i]
		if m.Analysis == "" && (m.command == nil || m.command.has(name)) && f.meet(m, name) {
			r.note(m.rule, c.part)
		}
	}
}

// argsPerStep is how many arguments count as one step of work.
const argsPerStep = 4

// engine notes the rules about something that the classifier found itself.
func (j *judging) engine(analysis, part string) {
	for i := range j.rules.ready {
		if m := &j.rules.ready[i]; m.Analysis == analysis {
			j.note(m.rule, part)
		}
	}
}

func (j *judging) note(rule *rule, part string) {
	f := Finding{Verdict: rule.verdict, Rule: rule.ID, Reason: rule.Reason, Part: excerpt(show(part))}
	for _, known := range j.findings {
		if known == f {
			return
		}
	}
	j.findings = append(j.findings, f)
}

// facts are what matches ask of a command, worked out when asked for.
type facts struct {
	r *reading
	c *call

	words                   []string // operands as they stand
	operands, reads, writes []string // paths
	have                    [4]bool
}

func (f *facts) once(i int) bool {
	had := f.have[i]
	f.have[i] = true
	return !had
}

func (f *facts) wordList() []string {
	if f.once(0) {
		f.words = f.c.operands()
	}
	return f.words
}

func (f *facts) operandPaths() []string {
	if f.once(1) {
		for _, o := range f.wordList() {
			f.operands = append(f.operands, f.r.path(o))
		}
	}
	return f.operands
}

func (f *facts) readPaths() []string {
	if !f.once(2) {
		return f.reads
	}
	for _, p := range f.c.reads {
		f.reads = append(f.reads, f.r.path(p))
	}
	if f.r.rules.in("names-only", f.c.name) {
		return f.reads
	}
	for _, a := range f.c.files(f.r.rules) {
		f.reads = append(f.reads, f.r.path(a))
	}
	return f.reads
}

// files are the arguments of a program that may be files.
func (c *call) files(rules *Rules) (files []string) {
	patterns := rules.in("pattern-first", c.name)
	given := false // the pattern
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		if patterns {
			switch {
			case a == "-e" || a == "--regexp" || a == "-v" && strings.HasSuffix(c.name, "awk"):
				given = given || a != "-v"
				i++
				continue
			case a == "--arg" || a == "--argjson":
				i += 2
				continue
			case a == "-f" || a == "--file":
				given = true
			case len(a) > 1 && a[0] == '-':
				continue
			case !given:
				given = true
				continue
			}
		}
		if file := fileOf(a); file != "" {
			files = append(files, file)
		}
	}
	return files
}

func (f *facts) writePaths() []string {
	if f.once(3) {
		for _, p := range append(f.c.writes, f.r.written(f.c)...) {
			f.writes = append(f.writes, f.r.path(p))
		}
	}
	return f.writes
}

// fileOf is the file that an argument names, "" if it names none.
func fileOf(arg string) string {
	if strings.HasPrefix(arg, "-") || strings.Contains(arg, "=") {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case ok && (strings.Contains(name, "clude") || strings.Contains(name, "ignore") || strings.Contains(name, "://")):
			return ""
		case ok:
			arg = value
		default:
			if i := strings.IndexAny(arg, "/~"); i > 0 {
				arg = arg[i:] // -d@/x, -f/x
			}
		}
	}
	arg = strings.TrimPrefix(arg, "@")
	if file, ok := strings.CutPrefix(arg, "file://"); ok {
		return file
	}
	if strings.Contains(arg, "://") {
		return ""
	}
	return arg
}

// written are the files that a program writes, moves or removes by its
// arguments.
func (r *reading) written(c *call) (files []string) {
	operands := c.operands()
	switch c.name {
	case "mv":
		if dir, ok := c.value("t", "target-directory"); ok {
			return append(operands, dir)
		}
		return operands
	case "tee", "truncate", "shred", "rm", "unlink", "rmdir", "mkswap", "wipefs", "blkdiscard", "sponge":
		return operands
	case "touch", "mkdir":
		return operands
	case "cp", "install", "ln", "rsync", "scp":
		own := c.name != "rsync" && c.name != "scp"
		if dir, ok := c.value("t", "target-directory"); ok && own {
			return []string{dir}
		}
		if c.name == "install" && c.has("d") {
			return operands
		}
		if len(operands) > 1 {
			return operands[len(operands)-1:]
		}
	case "tar":
		if dir, ok := c.value("C", "directory"); ok && (c.has("x") || len(c.args) > 0 && strings.Contains(c.args[0], "x")) {
			return []string{dir}
		}
	case "unzip":
		if dir, ok := c.value("d"); ok {
			return []string{dir}
		}
	case "dd":
		for _, o := range operands {
			if file, ok := strings.CutPrefix(o, "of="); ok {
				files = append(files, file)
			}
		}
	case "sed", "perl":
		if c.has("i") || c.has("in-place") {
			return operands
		}
	case "curl":
		if file, ok := c.value("o", "output"); ok {
			return []string{file}
		}
	case "wget":
		if file, ok := c.value("O", "output-document"); ok {
			return []string{file}
		}
		if dir, ok := c.value("P", "directory-prefix"); ok {
			return []string{dir}
		}
	}
	return files
}

// meet reports whether a command is what a match describes. That its name is
// one of the match's is known.
func (f *facts) meet(m *prepared, name string) bool {
	if m.except != nil && m.except.has(name) {
		return false
	}
	if anyOf(m.Without, f.c.has) {
		return false
	}
	for _, group := range m.Flags {
		if !anyOf(group, f.c.has) {
			return false
		}
	}
	for i, word := range m.Words {
		words := f.wordList()
		if i >= len(words) || !anyOf(strings.Split(word, "|"), func(w string) bool { return alike(w, words[i]) }) {
			return false
		}
	}
	if m.Mode != "" && !anyOf(f.c.args, worldWritable) {
		return false
	}
	if m.assign != nil && !anyAssigned(m.assign, f.c) {
		return false
	}
	return (m.operand == nil || anyOf(f.operandPaths(), m.operand.has)) &&
		(m.write == nil || anyOf(f.writePaths(), m.write.has)) &&
		(m.read == nil || anyOf(f.readPaths(), m.read.has))
}

func anyAssigned(names *names, c *call) bool {
	for _, a := range c.assigns {
		if a.value != "" && names.has(a.name) {
			return true
		}
	}
	return false
}

func anyOf(list []string, is func(string) bool) bool {
	for _, x := range list {
		if is(x) {
			return true
		}
	}
	return false
}

// worldWritable reports whether an argument of chmod lets everybody write
// what it is applied to. A sticky directory is another matter.
func worldWritable(mode string) bool {
	if n, err := strconv.ParseUint(mode, 8, 16); err == nil {
		return n&0o002 != 0 && n&0o1000 == 0
	}
	for part := range strings.SplitSeq(mode, ",") {
		at := strings.IndexAny(part, "+=")
		if at < 0 || strings.Trim(part[:at], "ugoa") != "" {
			continue
		}
		if who := part[:at]; (who == "" || strings.ContainsAny(who, "oa")) && strings.Contains(part[at:], "w") && who != "" {
			return true
		}
	}
	return false
}
