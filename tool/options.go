package tool

import (
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Limits bound the answers. Those in characters (of Unicode) hold for the whole
// text, markers and notices included; 0 switches one off.
type Limits struct {
	// Bash bounds the answer of bash, which keeps the head and the tail.
	Bash int
	// ReadFile bounds the answer of read_file, which keeps the head.
	ReadFile int
	// Ls bounds the answer of ls, which keeps the head.
	Ls int
	// Search bounds the answers of glob and grep, which keep the head.
	Search int
	// WriteBytes bounds the content of one write_file, in bytes.
	WriteBytes int
}

// DefaultLimits are the limits where the options give none.
func DefaultLimits() Limits {
	return Limits{Bash: 20000, ReadFile: 50000, Ls: 20000, Search: 50000, WriteBytes: 80 << 10}
}

// DefaultMaxTimeout is the longest timeout that an agent may ask for, where the
// options give none.
const DefaultMaxTimeout = time.Hour

// Options configure a Set. The zero value lacks the audit.
type Options struct {
	// Audit judges and records every call; required unless Unaudited is set.
	Audit *audit.Gate
	// Unaudited does without an audit. It is for tests, and for who has one
	// of his own before the tools.
	Unaudited bool
	// Origin is who calls, for the audit: audit.OriginTool if empty.
	Origin string
	// Provider is the name of what runs the sandbox, for the audit.
	Provider string
	// Limits bound the answers; nil means [DefaultLimits].
	Limits *Limits
	// Timeout ends a command for which the agent names none: 0 means
	// [provider.DefaultTimeout], negative never.
	Timeout time.Duration
	// MaxTimeout is the longest that an agent may ask for; 0 means
	// [DefaultMaxTimeout], or Timeout where that is longer.
	MaxTimeout time.Duration
	// Env is set in every command. Its values are redacted from what is
	// answered.
	Env map[string]string
	// HostEnv names variables of Environ to be set in every command; a "*" at
	// the end stands for any rest. One whose name looks like that of a secret
	// never is, even if it is named: give it in Env.
	HostEnv []string
	// Environ is the host's environment, as os.Environ has it.
	Environ []string
	// Redact are further values to be redacted from what is answered.
	Redact []string
	// Hidden are virtual paths that the file tools do not show or touch, with
	// all that is below. It is a filter, not a boundary: bash sees them.
	Hidden []string
	// ReadBeforeWrite refuses to change a file that was not read since it
	// last changed.
	ReadBeforeWrite bool
	// NoIgnore makes glob, grep and ls look into the directories of the ignore
	// list, without being asked.
	NoIgnore bool
}

// complete checks the options and sets what is not given.
func (o Options) complete() (Options, error) {
	wrong := func(reason, next string) error {
		return &provider.Error{Kind: provider.Invalid, Op: "configure the tools", Reason: reason, Next: next}
	}
	if (o.Audit == nil) != o.Unaudited {
		return o, wrong("there must be an audit, or it must be said that there is none", "set Audit, or Unaudited")
	}
	if o.Origin == "" {
		o.Origin = audit.OriginTool
	}
	if o.Limits == nil {
		l := DefaultLimits()
		o.Limits = &l
	}
	for _, n := range []int{o.Limits.Bash, o.Limits.ReadFile, o.Limits.Ls, o.Limits.Search, o.Limits.WriteBytes} {
		if n < 0 {
			return o, wrong("a limit is negative", "use 0 for none")
		}
	}
	if o.Timeout == 0 {
		o.Timeout = provider.DefaultTimeout
	}
	if o.MaxTimeout == 0 {
		o.MaxTimeout = max(DefaultMaxTimeout, o.Timeout)
	}
	for _, h := range o.Hidden {
		if !strings.HasPrefix(h, "/") || strings.Trim(h, "/") == "" {
			return o, wrong("a hidden path is not absolute, or is the root", "give paths such as /mnt/skills/private")
		}
	}
	for name := range o.Env {
		if !provider.IsEnvName(name) {
			return o, wrong("a variable's name is not one of letters, digits and '_'", "correct it")
		}
	}
	for _, name := range o.HostEnv {
		if !strings.HasSuffix(name, "*") && IsSecretName(name) {
			return o, wrong("the variable "+name+" of the host looks like a secret, which commands never get from there", "give its value in Env, from where it is redacted")
		}
	}
	return o, nil
}
