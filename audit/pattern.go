package audit

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// lazy compiles an expression when it is asked for the first time: most
// commands need none, and every program that links this starts sooner.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// names are patterns of programs or variables.
type names struct {
	plain map[string]bool
	globs []string
}

// has reports whether a name is one of them. The name may hold glob characters
// itself; what cannot be told of it is "…".
func (n *names) has(name string) bool {
	if n.plain[name] {
		return true
	}
	for _, glob := range n.globs {
		if ok, _ := path.Match(glob, name); ok {
			return true
		}
	}
	if !strings.ContainsAny(name, "*?[") || name == "*" {
		return false
	}
	for plain := range n.plain {
		if ok, _ := path.Match(name, plain); ok {
			return true
		}
	}
	return false
}

// paths are patterns of paths, by their first element.
type paths struct {
	first map[string][][]string
	wild  [][]string
}

// has reports whether a path is one of them.
func (p *paths) has(file string) bool {
	if file == "" {
		return false
	}
	elements := strings.Split(file, "/")
	at := 0
	if elements[0] == "" && len(elements) > 1 {
		at = 1
	}
	first := elements[at]
	if strings.ContainsAny(first, "*?[!@") {
		for _, patterns := range p.first {
			if anyCovers(patterns, elements) {
				return true
			}
		}
	} else if anyCovers(p.first[first], elements) {
		return true
	}
	return anyCovers(p.wild, elements)
}

func anyCovers(patterns [][]string, elements []string) bool {
	for _, pattern := range patterns {
		if covers(pattern, elements) {
			return true
		}
	}
	return false
}

func (p *paths) add(pattern string) {
	elements := strings.Split(pattern, "/")
	at := 0
	if elements[0] == "" && len(elements) > 1 {
		at = 1
	}
	if strings.ContainsAny(elements[at], "*?[") || elements[at] == everything {
		p.wild = append(p.wild, elements)
		return
	}
	p.first[elements[at]] = append(p.first[elements[at]], elements)
}

// everything is an element of a pattern for one of a path that stands for all
// there is in a directory.
const everything = `\*`

func coversAll(element string) bool {
	switch element {
	case "*", ".*", "?*", ".?*", ".??*", ".[!.]*", "[!.]*", "**":
		return true
	}
	return strings.Contains(element, "!(") || strings.Contains(element, "@(")
}

// covers compares a pattern with a path, element by element.
func covers(pattern, elements []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			return true // "**" comes last
		}
		if len(elements) == 0 || !alike(pattern[0], elements[0]) && !(pattern[0] == everything && coversAll(elements[0])) {
			return false
		}
		pattern, elements = pattern[1:], elements[1:]
	}
	return len(elements) == 0
}

// alike reports whether two patterns of one path element can mean the same.
func alike(a, b string) bool {
	if a == b {
		return true
	}
	if a == everything {
		return false
	}
	if strings.ContainsAny(a, "*?[") {
		if ok, _ := path.Match(a, b); ok {
			return true
		}
	}
	if strings.ContainsAny(b, "*?[") && b != "*" {
		if ok, _ := path.Match(b, a); ok {
			return true
		}
	}
	return false
}

// prepared is a match with its names and patterns taken apart.
type prepared struct {
	*match
	rule                 *rule
	command, except      *names
	assign               *names
	operand, read, write *paths
}

// prepare makes of the rules what is quick to ask.
func (r *Rules) prepare() {
	r.wrappers = wrappers()
	r.names = map[string]*names{}
	for set := range r.sets {
		r.names[set] = r.namesOf([]string{"@" + set})
	}
	r.ready = nil
	for i := range r.rules {
		for j := range r.rules[i].Any {
			m := &r.rules[i].Any[j]
			r.ready = append(r.ready, prepared{
				match: m, rule: &r.rules[i],
				command: r.namesOf(m.Command), except: r.namesOf(m.Except), assign: r.namesOf(m.Assign),
				operand: r.pathsOf(m.Operand), read: r.pathsOf(m.Read), write: r.pathsOf(m.Write),
			})
		}
	}
}

// spelled replaces the names of sets by what is in them. A set within a set is
// not looked into.
func (r *Rules) spelled(list []string) (out []string) {
	for _, name := range list {
		if set, ok := strings.CutPrefix(name, "@"); ok {
			out = append(out, r.sets[set]...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

func (r *Rules) namesOf(list []string) *names {
	if list == nil {
		return nil
	}
	n := &names{plain: map[string]bool{}}
	for _, name := range r.spelled(list) {
		if strings.ContainsAny(name, "*?[") && name != "[" && name != "[[" {
			n.globs = append(n.globs, name)
		} else {
			n.plain[name] = true
		}
	}
	return n
}

func (r *Rules) pathsOf(list []string) *paths {
	if list == nil {
		return nil
	}
	p := &paths{first: map[string][][]string{}}
	for _, pattern := range r.spelled(list) {
		p.add(pattern)
	}
	return p
}

// in reports whether a program is in a set.
func (r *Rules) in(set, name string) bool {
	n := r.names[set]
	return n != nil && n.has(show(name))
}
