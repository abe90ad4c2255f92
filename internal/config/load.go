package config

import (
	"fmt"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Sources say where values come from, the last first: what a flag says wins
// over the environment, that over the file, that over the defaults.
type Sources struct {
	// File is the file that the caller named; empty means to look for one
	// ([Find]).
	File string
	// Getenv looks a variable of the environment up, as os.Getenv does. An
	// empty variable counts as not set.
	Getenv func(string) string
	// UID is the effective user id.
	UID int
	// Flags are the flags that were given, by the name of their key.
	Flags map[string]string
}

// Config is what was loaded. It does not change.
type Config struct {
	// Settings are the effective values.
	Settings
	// File is the path of the file that was read, "" where there is none.
	File string
	// Warnings are for the person who wrote the file, each with file and line.
	Warnings []string
	// Unknown are the keys of the section that are not known, with the line
	// of each. Their values are not kept in any readable form.
	Unknown []Value

	sources Sources
	origins map[string]Origin
}

// Origin is where a value came from.
type Origin struct {
	// Kind is "default", "file", "environment" or "flag".
	Kind string `json:"origin"`
	// File and Line are those of the kind file.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Name is the variable's or the flag's.
	Name string `json:"name,omitempty"`
}

// String returns "default", "FILE:LINE", "$NAME" or "--NAME".
func (o Origin) String() string {
	switch o.Kind {
	case "file":
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case "environment":
		return "$" + o.Name
	case "flag":
		return "--" + o.Name
	}
	return o.Kind
}

// Load reads the file, where there is one, and puts the environment and the
// flags over it. It checks each value, but not whether they fit together: that
// does [provider.Config.Resolve]. Kinds: invalid, with file, line and key, or
// the variable, or the flag; not found, for a file that was named and is
// missing; denied, for one that cannot be read.
func Load(s Sources) (*Config, error) {
	c := &Config{sources: s, origins: map[string]Origin{}}
	keys := Keys()
	for _, k := range keys {
		if err := c.setDefault(k); err != nil {
			return nil, err
		}
	}
	text, err := c.readFile()
	if err != nil {
		return nil, err
	}
	if err := c.addFile(keys, text); err != nil {
		return nil, err
	}
	if err := c.addEnvironment(keys); err != nil {
		return nil, err
	}
	if err := c.addFlags(keys); err != nil {
		return nil, err
	}
	// The provider's configuration has seconds, 0 being its default.
	c.Provider.IdleTimeout = int((c.Idle + time.Second - 1) / time.Second)
	if c.Idle == 0 {
		c.Provider.IdleTimeout = -1
	}
	return c, nil
}

func invalid(reason, next string) error {
	return &provider.Error{Kind: provider.Invalid, Op: "configure", Reason: reason, Next: next}
}

// setDefault sets what the table says; an empty directory is told by the
// provider's configuration.
func (c *Config) setDefault(k Key) error {
	c.origins[k.Name] = Origin{Kind: "default"}
	switch k.Type {
	case Path, Mounts, Variables:
		return nil
	}
	value, err := k.scalar(k.Default, "")
	if err != nil {
		return invalid(fmt.Sprintf("the default of %s %v", k.Name, err), "")
	}
	c.set(k, value)
	return nil
}

// set puts a value into its field.
func (c *Config) set(k Key, value any) {
	switch field := k.field(&c.Settings).(type) {
	case *string:
		*field = value.(string)
	case *bool:
		*field = value.(bool)
	case *int:
		*field = int(value.(int64))
	case *int64:
		*field = value.(int64)
	case *time.Duration:
		*field = value.(time.Duration)
	case *[]provider.Mount:
		*field = value.([]provider.Mount)
	case *map[string]string:
		*field = value.(map[string]string)
	}
}

// addFile puts the values of a file's text over what is there.
func (c *Config) addFile(keys []Key, text []byte) error {
	root, err := parse(text)
	if err != nil {
		return c.located(err)
	}
	if root == nil {
		return nil
	}
	r := &reader{keys: keys, getenv: c.sources.Getenv}
	top, err := r.entries(root, "the file")
	if err != nil {
		return c.located(err)
	}
	r.lookForSection(top)
	for _, e := range top {
		if e.name != section {
			continue // somebody else's
		}
		values, err := r.read(e.value, "")
		if err != nil {
			return c.located(err)
		}
		for _, v := range values {
			c.add(keys, v, Origin{Kind: "file", File: c.File, Line: v.line})
		}
	}
	for _, w := range r.warnings {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s:%d: %s", c.File, w.line, w.text))
	}
	for _, u := range r.unknown {
		c.Unknown = append(c.Unknown, Value{Key: u.name, Value: hidden, Origin: Origin{Kind: "file", File: c.File, Line: u.line}})
	}
	return nil
}

func (c *Config) add(keys []Key, v found, from Origin) {
	for _, k := range keys {
		if k.Name == v.name {
			c.set(k, v.value)
			c.origins[k.Name] = from
		}
	}
}

// located gives a mistake its place.
func (c *Config) located(err error) error {
	if f, ok := err.(fault); ok {
		return invalid(fmt.Sprintf("%s:%d: %s", c.File, f.line, f.text), "correct the file; 'sandboxfs config init -' prints one with every key")
	}
	return invalid(fmt.Sprintf("%s: %v", c.File, err), "correct the file")
}

// addEnvironment reads the keys' variables. Those of compound values are YAML
// as in the file; JSON is YAML too.
func (c *Config) addEnvironment(keys []Key) error {
	for _, k := range keys {
		text := c.sources.Getenv(k.Env)
		if text == "" {
			continue
		}
		value, warnings, err := c.fromText(k, text)
		if err != nil {
			return invalid(fmt.Sprintf("$%s %v", k.Env, err), "correct the variable, or unset it")
		}
		for _, w := range warnings {
			c.Warnings = append(c.Warnings, fmt.Sprintf("$%s: %s", k.Env, w.text))
		}
		if value != nil {
			c.add(keys, found{name: k.Name, value: value}, Origin{Kind: "environment", Name: k.Env})
		}
	}
	return nil
}

func (c *Config) fromText(k Key, text string) (any, []fault, error) {
	if k.Type != Mounts && k.Type != Variables {
		value, err := k.scalar(text, c.sources.Getenv("HOME"))
		return value, nil, err
	}
	if len(text) > MaxFile {
		return nil, nil, fmt.Errorf("has more than %d bytes", MaxFile)
	}
	root, err := parse([]byte(text))
	if err != nil || root == nil {
		return nil, nil, err
	}
	r := &reader{getenv: c.sources.Getenv}
	value, err := r.value(k, root)
	return value, r.warnings, err
}

func (c *Config) addFlags(keys []Key) error {
	for _, k := range keys {
		text, given := c.sources.Flags[k.Name]
		if !given {
			continue
		}
		value, err := k.scalar(text, c.sources.Getenv("HOME"))
		if err != nil {
			return invalid(fmt.Sprintf("--%s %v", k.Flag, err), "see the verb's --help")
		}
		c.add(keys, found{name: k.Name, value: value}, Origin{Kind: "flag", Name: k.Flag})
	}
	return nil
}
