package config

import (
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Settings are all values that can be configured.
type Settings struct {
	// Provider is what a provider is made from.
	Provider provider.Config
	// Image, Port, Replicas and ContainerPrefix are for providers that run
	// containers.
	Image           string
	Port            int
	Replicas        int
	ContainerPrefix string
	// Idle is how long a sandbox may be idle; 0 means for ever.
	Idle time.Duration
	// The budgets of the agents' tools, in characters.
	BashOutputMaxChars     int
	ReadFileOutputMaxChars int
	LsOutputMaxChars       int
	// CommandTimeout ends a command; 0 means never.
	CommandTimeout time.Duration
	// Audit is how commands are recorded and judged.
	Audit Audit
}

// Audit are the settings of the record of commands.
type Audit struct {
	// Sync is "grouped" or "always".
	Sync string
	// Required keeps an agent's command from running where it cannot be
	// recorded.
	Required bool
	// Rules is a file of rules, "" for the one in the log's directory.
	Rules string
	// MaxBytes and MaxAge bound what is kept; 0 means no bound.
	MaxBytes int64
	MaxAge   time.Duration
}

// Type says how a key's value is written.
type Type string

// The types of values.
const (
	Text      Type = "text"
	Path      Type = "path"      // absolute; "~/" stands for the home directory
	Choice    Type = "choice"    // one of Key.Choices
	Bool      Type = "boolean"   // true, yes, on, 1; false, no, off, 0
	Number    Type = "number"    // a whole number from Key.Min to Key.Max
	Seconds   Type = "seconds"   // a number of seconds, or a duration such as 10m
	Bytes     Type = "bytes"     // a number of bytes, or one with a unit such as 10GiB
	Mounts    Type = "mounts"    // a list of mounts
	Variables Type = "variables" // a mapping of names to texts
)

// Key is one thing that can be configured.
type Key struct {
	// Name is the key below `sandbox:`, with dots between levels.
	Name string
	// Type says how its value is written.
	Type Type
	// Choices are the values of a Choice, the default first.
	Choices []string
	// Min and Max bound a Number.
	Min, Max int
	// Default is the value where nothing sets it, as the file would have it;
	// for a Path it may be words.
	Default string
	// Env is the variable that sets it, and Flag the flag, "" where there is
	// none.
	Env, Flag string
	// Secret values are never shown.
	Secret bool
	// Help says in one line what it does.
	Help string

	// field returns a pointer to where the value belongs: of the type string,
	// bool, int, int64, time.Duration, []provider.Mount or map[string]string.
	field func(*Settings) any
}

// variableOf is the variable of a key that the table gives no other.
func variableOf(name string) string {
	return "SANDBOXFS_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}
