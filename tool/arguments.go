package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// maxArguments bounds the arguments of one call, in bytes of JSON.
const maxArguments = 16 << 20

// property is what a schema says of one argument.
type property struct {
	Type string `json:"type"`
}

type inputSchema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

// decode puts the arguments of a call, as a model writes them, into a struct.
// It is strict where a slip would change what is done (unknown names, missing
// arguments, texts that would be altered) and takes what can only mean one
// thing: a number or a boolean in quotes, a null for what is not given. Kind:
// invalid.
func decode(tool string, raw json.RawMessage, into any) error {
	wrong := func(format string, a ...any) error {
		return invalid(tool, fmt.Sprintf(format, a...), "correct the arguments and call it again")
	}
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxArguments {
		return wrong("the arguments are longer than 16 MiB")
	}
	if !utf8.Valid(raw) || hasLoneSurrogate(raw) {
		return wrong("the arguments hold something that is no character (half of a surrogate pair, or bytes that are not UTF-8), and nothing was done")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		return wrong("the arguments are not one JSON object")
	}
	spec, _ := SpecOf(tool)
	var schema inputSchema
	if err := json.Unmarshal(spec.InputSchema, &schema); err != nil {
		return wrong("there is no tool %q", tool)
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, ok := schema.Properties[name]
		if !ok {
			return wrong("there is no argument %q; there are %s", clip(name, 100), strings.Join(names, ", "))
		}
		value, ok := p.normalize(bytes.TrimSpace(given[name]))
		switch {
		case !ok:
			return wrong("%s is not %s", name, article(p.Type))
		case value == nil:
			delete(given, name)
		default:
			given[name] = value
		}
	}
	for _, name := range schema.Required {
		if _, ok := given[name]; !ok {
			why := ""
			if name == "description" {
				why = ": say in one sentence why you make this call"
			}
			return wrong("%s is missing%s", name, why)
		}
	}
	clean, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(clean, into)
	}
	if err != nil {
		return wrong("the arguments cannot be read")
	}
	return nil
}

// normalize checks a value; nil and true stand for one that is not given.
func (p property) normalize(v json.RawMessage) (json.RawMessage, bool) {
	if string(v) == "null" {
		return nil, true
	}
	text := ""
	quoted := json.Unmarshal(v, &text) == nil
	switch p.Type {
	case "string":
		return v, quoted
	case "boolean":
		if quoted {
			v = json.RawMessage(strings.ToLower(text))
		}
		return v, string(v) == "true" || string(v) == "false"
	case "integer", "number":
		if quoted {
			v = json.RawMessage(strings.TrimSpace(text))
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		if p.Type == "integer" {
			if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
				return nil, false
			}
			return json.RawMessage(strconv.Itoa(int(f))), true
		}
		return json.RawMessage(strconv.FormatFloat(f, 'g', -1, 64)), true
	}
	return v, true
}

func article(kind string) string {
	switch kind {
	case "integer":
		return "a whole number"
	case "boolean":
		return "true or false"
	case "number":
		return "a number"
	}
	return "a string"
}

// hasLoneSurrogate reports whether JSON text has an escape that is one half of
// a surrogate pair. A decoder would put another character in its place.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // what is escaped, which may be a backslash
		if i >= len(raw) || raw[i] != 'u' {
			continue
		}
		switch unit := codeUnit(raw[i+1:]); {
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			rest := raw[min(i+5, len(raw)):]
			if len(rest) < 2 || rest[0] != '\\' || rest[1] != 'u' {
				return true
			}
			if low := codeUnit(rest[2:]); low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 10
		}
	}
	return false
}

// codeUnit reads four hexadecimal digits; -1 if there are none.
func codeUnit(b []byte) int {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// described checks what every call has.
func described(tool, description string) error {
	if strings.TrimSpace(description) == "" {
		return invalid(tool, "description is empty", "say in one sentence why you make this call")
	}
	return nil
}

// place checks a path. One that does not begin with "/" is taken from where
// commands start.
func (s *Set) place(tool, p string) (string, error) {
	switch {
	case p == "":
		return "", invalid(tool, "path is empty", "give an absolute path such as "+mapping.Workspace+"/notes.md")
	case strings.ContainsRune(p, 0):
		return "", invalid(tool, "path has a NUL character", "give the path without it")
	case p[0] != '/':
		p = mapping.Workspace + "/" + p
	}
	if s.hides(p) {
		return "", &provider.Error{Kind: provider.NotFound, Op: tool, Path: clip(p, 500), Reason: "no such file or directory", Next: "list the directory to see what is there"}
	}
	return p, nil
}

func invalid(tool, reason, next string) error {
	return &provider.Error{Kind: provider.Invalid, Op: tool, Reason: reason, Next: next}
}

// clip shortens a text in a message.
func clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return text[:runes(text, limit)] + "..."
}
