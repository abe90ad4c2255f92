package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// hidden stands for a value that is not shown.
const hidden = "<hidden>"

// Value is an effective value, fit to be shown to anybody.
type Value struct {
	Key string `json:"key"`
	// Value is a text, bool, number, list or mapping, as the file would have
	// it. A secret is "<hidden>".
	Value any `json:"value"`
	Origin
}

// Values returns every key's effective value and where it came from, in the
// table's order, with the directories that the provider will use.
func (c *Config) Values() []Value {
	settings := c.Settings
	// The directories depend on nothing else; what else is wrong is told by
	// whoever makes a provider.
	dirs := provider.Config{Home: c.Provider.Home, SkillsDir: c.Provider.SkillsDir, RuntimeDir: c.Provider.RuntimeDir}
	if resolved, err := dirs.Resolve(provider.Environment{Getenv: c.sources.Getenv, UID: c.sources.UID}); err == nil {
		settings.Provider.Home, settings.Provider.SkillsDir, settings.Provider.RuntimeDir = resolved.Home, resolved.SkillsDir, resolved.RuntimeDir
	}
	var values []Value
	for _, k := range Keys() {
		values = append(values, Value{Key: k.Name, Value: k.shown(&settings), Origin: c.origins[k.Name]})
	}
	return values
}

func (k Key) shown(s *Settings) any {
	switch field := k.field(s).(type) {
	case *string:
		return *field
	case *bool:
		return *field
	case *int:
		return *field
	case *int64:
		return *field
	case *time.Duration:
		return field.Seconds()
	case *[]provider.Mount:
		if *field == nil {
			return []provider.Mount{}
		}
		return slices.Clone(*field)
	case *map[string]string:
		names := map[string]string{}
		for name := range *field {
			names[name] = hidden
		}
		return names
	}
	return nil
}

// Text returns the value in one line, for a person.
func (v Value) Text() string {
	switch x := v.Value.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case int:
		return strconv.Itoa(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []provider.Mount:
		var parts []string
		for _, m := range x {
			part := m.HostPath + " at " + m.ContainerPath
			if m.ReadOnly {
				part += " (read-only)"
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ", ")
	case map[string]string:
		var parts []string
		for name, value := range x {
			parts = append(parts, name+"="+value)
		}
		slices.Sort(parts)
		return strings.Join(parts, " ")
	}
	return ""
}
