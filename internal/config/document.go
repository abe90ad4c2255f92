package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxFile is the greatest size of a configuration file, in bytes.
	MaxFile = 1 << 20
	// maxValues bounds the values of the section, aliases followed: what a
	// few nested aliases stand for can be billions.
	maxValues = 10_000
	section   = "sandbox"
)

// fault is a mistake at a line.
type fault struct {
	line int
	text string
}

func (f fault) Error() string { return f.text }

func faultf(n *yaml.Node, format string, a ...any) error {
	return fault{n.Line, fmt.Sprintf(format, a...)}
}

// entry is one name of a mapping with its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// document walks a parsed file, and counts what it sees.
type document struct{ seen int }

// parse returns the root of a YAML text, nil for an empty one. The library
// resolves no alias here and bounds its own depth.
func parse(text []byte) (*yaml.Node, error) {
	if !utf8.Valid(text) {
		return nil, fault{1 + bytes.Count(text[:firstInvalid(text)], []byte("\n")), "the text is not UTF-8"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxFault(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, faultf(&more, "a second document begins here; one is expected")
	case !errors.Is(err, io.EOF):
		return nil, syntaxFault(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil
	}
	return doc.Content[0], nil
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// syntaxFault takes the line out of what the library says ("yaml: line 3:
// found ..."), which is the only place where it has it.
func syntaxFault(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	f := fault{1, text}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				f = fault{n, what}
			}
		}
	}
	if strings.Contains(f.text, "cannot start any token") {
		f.text += " (a tab? YAML is indented with spaces)"
	}
	f.text = "this is no YAML: " + f.text
	return f
}

// follow returns what an alias stands for.
func (d *document) follow(n *yaml.Node) (*yaml.Node, error) {
	for n.Kind == yaml.AliasNode {
		if n = n.Alias; n == nil {
			return nil, errors.New("an alias leads nowhere")
		}
	}
	if d.seen++; d.seen > maxValues {
		return nil, faultf(n, "the section %s has more than %d values, aliases followed", section, maxValues)
	}
	return n, nil
}

// isNull reports whether a value is not given: as if its key were not there.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// entries returns the entries of a mapping in order, merge keys (<<)
// resolved. what names it in an error.
func (d *document) entries(n *yaml.Node, what string) ([]entry, error) {
	n, err := d.follow(n)
	if err != nil {
		return nil, err
	}
	if isNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, faultf(n, "%s must be a mapping of names to values", what)
	}
	var own, merged []entry
	at := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			more, err := d.merge(value, what)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if key, err = d.follow(key); err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, faultf(key, "a name in %s is a list or a mapping; it must be a text", what)
		}
		if before := at[key.Value]; before != 0 {
			return nil, faultf(key, "%s has %s twice; it was given in line %d already", what, quote(key.Value), before)
		}
		at[key.Value] = max(1, key.Line)
		own = append(own, entry{key.Value, key, value})
	}
	for _, e := range merged { // what is nearer wins
		if at[e.name] == 0 {
			at[e.name] = max(1, e.key.Line)
			own = append(own, e)
		}
	}
	return own, nil
}

func (d *document) merge(value *yaml.Node, what string) ([]entry, error) {
	value, err := d.follow(value)
	if err != nil {
		return nil, err
	}
	if value.Kind != yaml.SequenceNode {
		return d.entries(value, what)
	}
	var all []entry
	for _, v := range value.Content {
		more, err := d.entries(v, what)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}
