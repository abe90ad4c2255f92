package provider

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The values of LocalConfig, its default first.
const (
	TierIsolated = "isolated"
	TierHost     = "host"

	NetHost = "host"
	NetNone = "none"

	OwnershipOwner    = "owner"
	OwnershipPreserve = "preserve"
)

// The values of Config.Shell, its default first.
const (
	ShellOneShot    = "one-shot"
	ShellPersistent = "persistent"
)

// DefaultSession names the session of a thread whose shell is persistent.
const DefaultSession = "default"

// Defaults of the limits.
const (
	// DefaultIdleTimeout is Config.IdleTimeout's, in seconds.
	DefaultIdleTimeout = 600
	// DefaultMaxSandboxes is LocalConfig.MaxSandboxes'.
	DefaultMaxSandboxes = 256
)

// Environment is what a configuration's defaults depend on.
type Environment struct {
	// Getenv looks a variable up, as os.Getenv does.
	Getenv func(name string) string
	// UID is the effective user id.
	UID int
}

// ProcessEnvironment is this process's.
func ProcessEnvironment() Environment {
	return Environment{Getenv: os.Getenv, UID: os.Geteuid()}
}

// Resolve returns the configuration with every default filled in, checked by
// [Config.Validate]. It is a pure function of its arguments: it opens and
// makes nothing. A resolved configuration resolves to itself. Kinds: those of
// Validate, invalid (no home can be told, "preserve" without root).
func (c Config) Resolve(env Environment) (Config, error) {
	c.Environment = maps.Clone(c.Environment)
	c.Use = orDefault(c.Use, DefaultName)
	c.Local.Tier = orDefault(c.Local.Tier, TierIsolated)
	c.Local.Net = orDefault(c.Local.Net, NetHost)
	c.Shell = orDefault(c.Shell, ShellOneShot)
	c.Mounts = slices.Clone(c.Mounts)
	c.Local.Ownership = orDefault(c.Local.Ownership, OwnershipOwner)
	if c.Local.MaxSandboxes == 0 {
		c.Local.MaxSandboxes = DefaultMaxSandboxes
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.Home = orDefault(c.Home, defaultHome(env)); c.Home == "" {
		return Config{}, invalidConfig("the data directory is not known: neither $SANDBOXFS_HOME nor $XDG_DATA_HOME nor $HOME is an absolute path",
			"set SANDBOXFS_HOME to a directory")
	}
	c.RuntimeDir = orDefault(c.RuntimeDir, defaultRuntimeDir(env))
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	c.SkillsDir = orDefault(c.SkillsDir, path.Join(c.Home, "skills"))
	if c.Local.Ownership == OwnershipPreserve && env.UID != 0 {
		return Config{}, invalidConfig("the ownership preserve keeps the host's uids and needs root",
			"run as root, or use the ownership owner")
	}
	return c, nil
}

// defaultHome is "" where the environment names none.
func defaultHome(env Environment) string {
	if home := env.Getenv("SANDBOXFS_HOME"); home != "" {
		return home // a relative one is told to its user by Validate
	}
	// A relative XDG variable is to be ignored (XDG Base Directory
	// Specification).
	if data := env.Getenv("XDG_DATA_HOME"); path.IsAbs(data) {
		return path.Join(data, "sandboxfs")
	}
	if home := env.Getenv("HOME"); path.IsAbs(home) {
		return path.Join(home, ".local", "share", "sandboxfs")
	}
	return ""
}

func defaultRuntimeDir(env Environment) string {
	if dir := env.Getenv("SANDBOXFS_RUNTIME_DIR"); dir != "" {
		return dir
	}
	if dir := env.Getenv("XDG_RUNTIME_DIR"); path.IsAbs(dir) {
		return path.Join(dir, "sandboxfs")
	}
	if env.UID == 0 {
		return "/run/sandboxfs"
	}
	return "/tmp/sandboxfs-" + strconv.Itoa(env.UID)
}

// Validate checks what is set; an empty value is a default and valid. Kinds:
// invalid, denied (the tier host without AllowHostBash).
func (c Config) Validate() error {
	for _, dir := range []struct{ name, variable, value string }{
		{"data directory", "SANDBOXFS_HOME", c.Home},
		{"skills directory", "", c.SkillsDir},
		{"runtime directory", "SANDBOXFS_RUNTIME_DIR", c.RuntimeDir},
	} {
		if dir.value != "" && (!path.IsAbs(dir.value) || strings.ContainsRune(dir.value, 0)) {
			next := "give an absolute path"
			if dir.variable != "" {
				next += ", here or in $" + dir.variable
			}
			return invalidConfig(fmt.Sprintf("the %s %q is not an absolute path", dir.name, dir.value), next)
		}
	}
	for name, value := range c.Environment {
		if !IsEnvName(name) {
			return invalidConfig(fmt.Sprintf("%q is not the name of an environment variable", name), nextEnvName)
		}
		if strings.ContainsRune(value, 0) {
			return invalidConfig(fmt.Sprintf("the environment variable %s holds a NUL byte", name), "remove it")
		}
	}
	if c.Shell != "" && c.Shell != ShellOneShot && c.Shell != ShellPersistent {
		return invalidConfig(fmt.Sprintf("the shell %q does not exist", c.Shell), "use one-shot or persistent")
	}
	if err := validateMounts(c); err != nil {
		return err
	}
	return c.Local.validate(c.AllowHostBash)
}

func (l LocalConfig) validate(allowHost bool) error {
	for _, choice := range []struct {
		name, value string
		allowed     []string
	}{
		{"tier", l.Tier, []string{TierIsolated, TierHost}},
		{"network", l.Net, []string{NetHost, NetNone}},
		{"ownership", l.Ownership, []string{OwnershipOwner, OwnershipPreserve}},
	} {
		if choice.value != "" && !slices.Contains(choice.allowed, choice.value) {
			return invalidConfig(fmt.Sprintf("the %s %q does not exist", choice.name, choice.value),
				"use "+strings.Join(choice.allowed, " or "))
		}
	}
	if l.Quota.Bytes < 0 || l.Quota.Files < 0 {
		return invalidConfig("a quota below 0 makes no sense", "give a number of bytes and of files, or 0 for no bound")
	}
	if l.MaxSandboxes < 0 {
		return invalidConfig(fmt.Sprintf("at most %d sandboxes makes no sense", l.MaxSandboxes),
			fmt.Sprintf("give 1 or more, or 0 for the default of %d", DefaultMaxSandboxes))
	}
	if l.Tier == TierHost && !allowHost {
		return &Error{Kind: Denied, Op: "configure",
			Reason: "the tier host runs commands on this machine's own root file system, with the caller's rights, and is not allowed",
			Next:   "use the tier isolated, which needs no permission, or set SANDBOXFS_ALLOW_HOST_BASH=true (allow_host_bash) where every agent may act as you"}
	}
	return nil
}

// Idle returns how long a sandbox may be idle; 0 means for ever.
func (c Config) Idle() time.Duration {
	switch {
	case c.IdleTimeout < 0:
		return 0
	case c.IdleTimeout == 0:
		return DefaultIdleTimeout * time.Second
	}
	return time.Duration(c.IdleTimeout) * time.Second
}

const nextEnvName = "use letters, digits and '_', and begin with a letter or '_'"

// IsEnvName reports whether a name is one of an environment variable that
// every shell accepts: a letter or '_', then letters, digits and '_' (POSIX
// XBD 3.216, "Name").
func IsEnvName(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return name != ""
}

func invalidConfig(reason, next string) error {
	return &Error{Kind: Invalid, Op: "configure", Reason: reason, Next: next}
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
