package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"go.yaml.in/yaml/v3"
)

// reader turns the nodes of one source into values.
type reader struct {
	document
	keys     []Key
	getenv   func(string) string
	warnings []fault
	unknown  []found
}

// found is a key in a source.
type found struct {
	name  string
	value any // of the type that Key.field points to, or a wider one
	line  int
}

// read reads the mapping below `sandbox:`, or below a key of it, and
// returns the values of known keys.
func (r *reader) read(n *yaml.Node, prefix string) ([]found, error) {
	what := strings.TrimSuffix(section+"."+prefix, ".")
	entries, err := r.entries(n, what)
	if err != nil {
		return nil, err
	}
	var values []found
	for _, e := range entries {
		name := prefix + e.name
		i := slices.IndexFunc(r.keys, func(k Key) bool { return k.Name == name })
		switch {
		case i >= 0:
			value, err := r.value(r.keys[i], e.value)
			if err != nil {
				return nil, err
			}
			if value != nil {
				values = append(values, found{name, value, e.key.Line})
			}
		case slices.ContainsFunc(r.keys, func(k Key) bool { return strings.HasPrefix(k.Name, name+".") }):
			more, err := r.read(e.value, name+".")
			if err != nil {
				return nil, err
			}
			values = append(values, more...)
		default:
			r.unknown = append(r.unknown, found{name: name, line: e.key.Line})
			if !slices.Contains(elsewhere(), name) {
				r.warn(e.key, section+"."+name, suggest(name, r.keys))
			}
		}
	}
	return values, nil
}

func (r *reader) warn(n *yaml.Node, name, meant string) {
	text := fmt.Sprintf("there is no key %s here; it has no effect", quote(name))
	if meant != "" {
		text += fmt.Sprintf(". Did you mean %s?", meant)
	}
	r.warnings = append(r.warnings, fault{n.Line, text})
}

// lookForSection warns of a file that has no section of ours, but something
// that looks as if it were meant to be it, or to be in it.
func (r *reader) lookForSection(top []entry) {
	if slices.ContainsFunc(top, func(e entry) bool { return e.name == section }) {
		return
	}
	for _, e := range top {
		belongs := slices.ContainsFunc(r.keys, func(k Key) bool { return k.Name == e.name || strings.HasPrefix(k.Name, e.name+".") })
		if belongs || distance(strings.ToLower(e.name), section) <= 2 {
			r.warnings = append(r.warnings, fault{e.key.Line, fmt.Sprintf("%s has no effect here: the settings are read from the section '%s:' alone, which the file has not", quote(e.name), section)})
		}
	}
}

// value returns the value of a key; nil where it is null.
func (r *reader) value(k Key, n *yaml.Node) (any, error) {
	at := n
	n, err := r.follow(n)
	if err != nil || isNull(n) {
		return nil, err
	}
	name := section + "." + k.Name
	switch k.Type {
	case Mounts:
		return r.mounts(n, name)
	case Variables:
		return r.variables(n, name)
	}
	if err := plain(k, n); err != nil {
		return nil, faultf(at, "%s %v", name, err)
	}
	text := n.Value
	if k.Type == Text || k.Type == Path {
		if text, err = r.fromHost(text); err != nil {
			return nil, faultf(at, "%s %v", name, err)
		}
	}
	value, err := k.scalar(text, r.getenv("HOME"))
	if err != nil {
		return nil, faultf(at, "%s %v", name, err)
	}
	return value, nil
}

// plain refuses a value of another YAML type than the key's.
func plain(k Key, n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("must be a %s, not a list or a mapping", k.Type)
	}
	text := n.ShortTag() == "!!str"
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	switch k.Type {
	case Bool, Number:
		if text && quoted {
			return fmt.Errorf("must be a %s, and in quotes it is a text; remove the quotes", k.Type)
		}
		if k.Type == Bool && !text && n.ShortTag() != "!!bool" {
			return fmt.Errorf("must be true or false, not %s", quote(n.Value))
		}
	case Text, Path, Choice:
		if !text {
			return fmt.Errorf("must be a text, not %s; put it into quotes", quote(n.Value))
		}
	}
	return nil
}

// fromHost replaces a text that is $NAME or ${NAME} by the variable's value.
func (r *reader) fromHost(text string) (string, error) {
	name, text, err := reference(text)
	if err != nil || name == "" {
		return text, err
	}
	value := r.getenv(name)
	if value == "" {
		return "", fmt.Errorf("is taken from the variable %s, which is not set", name)
	}
	return value, nil
}

// reference returns the name of the variable that a text stands for, or the
// text itself, in which a leading "$$" means "$". A dollar sign further on
// means nothing.
func reference(text string) (name, literal string, err error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return "", text, nil
	}
	if strings.HasPrefix(rest, "$") {
		return "", rest, nil
	}
	name = rest
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); ok {
			name = inner
		}
	}
	if !provider.IsEnvName(name) {
		return "", "", fmt.Errorf("begins with '$' and is not the name of one variable; write $NAME, ${NAME}, or $$ for a dollar sign")
	}
	return name, "", nil
}
