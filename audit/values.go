package audit

import (
	"io"
	"maps"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// origin says where a text that is not in the command comes from.
type origin uint8

const (
	// unknown is a variable of the environment, or the output of a command
	// that is none of the others.
	unknown origin = 1 << iota
	// downloaded came over the network.
	downloaded
	// decoded came out of something that hides what goes in.
	decoded
	// interpreted is what a program wrote that is in the command itself, or
	// that an interpreter read.
	interpreted

	// risky are the origins that no command may be made of.
	risky = downloaded | decoded | interpreted
)

// A text with unknown parts holds, for each, a character of the private use
// area that tells its origin. Those of the input are replaced before.
const (
	markBase = '\uE000'
	markLast = markBase + 0xFF
)

func mark(o origin) string { return string(rune(markBase) + rune(o|unknown)) }

func isMark(r rune) bool { return r >= markBase && r <= markLast }

// origins collects those of a text's unknown parts, 0 if it has none.
func origins(text string) (o origin) {
	for _, r := range text {
		if isMark(r) {
			o |= origin(r - markBase)
		}
	}
	return o
}

// constant reports whether all of a text is in the command.
func constant(text string) bool { return strings.IndexFunc(text, isMark) < 0 }

// show makes a text with unknown parts readable.
func show(text string) string {
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return '…'
		}
		return r
	}, text)
}

// unmarked keeps the input from holding marks of its own.
func unmarked(text string) string {
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

const (
	// workspace is where commands begin, and their HOME.
	workspace = "/mnt/user-data/workspace"
	home      = "~"
	// valueLimit bounds what is remembered of a variable, in bytes; a longer
	// one is unknown. It keeps repeated doubling from growing.
	valueLimit = 512
	// wordsLimit bounds what one word may become.
	wordsLimit = 256
	// wordLimit is the longest word that is put together, the longest path of
	// the kernel (PATH_MAX).
	wordLimit = 4096
	// partsLimit bounds the pieces that a word is made of.
	partsLimit = 256
)

// variables are what a command's own assignments say, as far as they are in
// the command. It is an expand.Environ.
type variables map[string]expand.Variable

func (v variables) clone() variables { return maps.Clone(v) }

// set remembers an assignment.
func (v variables) set(name, value string) {
	v[name] = expand.Variable{Set: true, Kind: expand.String, Str: bounded(value)}
}

// setList remembers the assignment of an array.
func (v variables) setList(name string, values []string) {
	if len(values) > wordsLimit {
		values = []string{mark(origins(strings.Join(values, "")))}
	}
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = bounded(value)
	}
	v[name] = expand.Variable{Set: true, Kind: expand.Indexed, List: list}
}

func bounded(value string) string {
	if len(value) > valueLimit {
		return mark(origins(value))
	}
	return value
}

// Get is of expand.Environ.
func (v variables) Get(name string) expand.Variable {
	if known, ok := v[name]; ok {
		return known
	}
	value := mark(unknown)
	switch {
	case name == "HOME":
		value = home
	case name == "IFS":
		value = " \t\n"
	case name == "PWD":
		value = workspace
	case name == "#":
		value = "0"
	case name == "HOME root":
		value = "/root"
	case strings.HasPrefix(name, "HOME "):
		value = "/home/" + strings.TrimPrefix(name, "HOME ")
	case name == "@", name == "*":
		return expand.Variable{Set: true, Kind: expand.Indexed, List: []string{value}}
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: value}
}

// Each is of expand.Environ.
func (v variables) Each(func(string, expand.Variable) bool) {}

// fields expands words as bash does, without looking at files, running
// anything or asking the environment. What cannot be told is one field with a
// mark.
func (r *reading) fields(words ...*syntax.Word) []string {
	var out []string
	for _, w := range words {
		out = append(out, r.expandWord(w)...)
	}
	return out
}

func (r *reading) expandWord(w *syntax.Word) (fields []string) {
	fallback := func() []string { return []string{mark(r.substituted(w))} }
	defer func() {
		// The library's answer to what it does not know is a panic in places.
		if recover() != nil {
			fields = fallback()
		}
	}()
	if lit := w.Lit(); lit != "" && !strings.ContainsAny(lit, "\\~{") {
		return []string{lit}
	}
	if len(w.Parts) > partsLimit {
		r.engine("too-complex", r.source(w))
		return fallback()
	}
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.ExtGlob); ok { // it stands for names
			return []string{r.source(w)}
		}
	}
	if wide(w) {
		return fallback()
	}
	fields, err := expand.Fields(r.expansion(), w)
	if err != nil || len(fields) > wordsLimit {
		return fallback()
	}
	for i, f := range fields {
		if len(f) > wordLimit && len(w.Parts) > 1 { // no path is that long
			fields[i] = mark(origins(f))
		}
		r.work += len(f) / bytesPerStep
	}
	return fields
}

// text expands a word that is not split: an assignment's value, a here-string
// or the target of a redirection.
func (r *reading) text(w *syntax.Word) (text string) {
	if w == nil {
		return ""
	}
	if len(w.Parts) > partsLimit {
		r.engine("too-complex", r.source(w))
		return mark(unknown)
	}
	defer func() {
		if recover() != nil {
			text = mark(r.substituted(w))
		}
	}()
	text, err := expand.Literal(r.expansion(), w)
	if err != nil {
		return mark(r.substituted(w))
	}
	return text
}

// document expands the body of a here-document.
func (r *reading) document(w *syntax.Word) (text string) {
	if w == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = mark(r.substituted(w))
		}
	}()
	text, err := expand.Document(r.expansion(), w)
	if err != nil {
		return mark(r.substituted(w))
	}
	return text
}

func (r *reading) expansion() *expand.Config {
	return &expand.Config{
		Env: r.vars,
		CmdSubst: func(w io.Writer, s *syntax.CmdSubst) error {
			out := r.outputOf(s.Stmts)
			_, err := io.WriteString(w, out)
			return err
		},
		ProcSubst: func(s *syntax.ProcSubst) (string, error) {
			if s.Op != syntax.CmdIn {
				return mark(unknown), nil
			}
			return mark(origins(r.outputOf(s.Stmts))), nil
		},
	}
}

// substituted joins the origins of all substitutions in a word.
func (r *reading) substituted(w *syntax.Word) (o origin) {
	syntax.Walk(w, func(n syntax.Node) bool {
		switch s := n.(type) {
		case *syntax.CmdSubst:
			o |= origins(r.outputOf(s.Stmts))
			return false
		case *syntax.ProcSubst:
			o |= origins(r.outputOf(s.Stmts))
			return false
		}
		return true
	})
	return o | unknown
}

// wide reports whether a word's braces could become too many fields.
func wide(w *syntax.Word) bool {
	total := 1
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		if strings.Contains(lit.Value, "..") && strings.Contains(lit.Value, "{") {
			return true
		}
		for _, alternatives := range strings.Split(lit.Value, "{")[1:] {
			total *= 1 + strings.Count(alternatives, ",")
			if total > wordsLimit {
				return true
			}
		}
	}
	return false
}
