package provider

import (
	"context"

	"github.com/sandboxfs/sandboxfs/mapping"
)

// Provider creates, finds and ends sandboxes. All methods are safe for
// concurrent callers, in one process and in several: one key has one live
// sandbox on a host, whoever acquires it.
type Provider interface {
	// Acquire returns the id of the key's live sandbox and starts one where
	// there is none. The id can be stored. Kinds: invalid, denied,
	// unavailable, conflict.
	Acquire(ctx context.Context, key mapping.Key) (id string, err error)

	// Get returns a sandbox that this process acquired, from memory alone.
	// Kind: not found; then acquire again.
	Get(id string) (Sandbox, error)

	// Release parks a sandbox: it lives on until it is idle too long.
	// Releasing one that is gone is no error.
	Release(ctx context.Context, id string) error
}

// Resetter is a provider that can forget its handles and read its
// configuration anew. Sandboxes live on.
type Resetter interface {
	Reset(ctx context.Context) error
}

// Shutdowner is a provider that holds something to be let go of when the
// program ends. Sandboxes that outlive programs live on.
type Shutdowner interface {
	Shutdown(ctx context.Context) error
}

// Lister is a provider that can list the live sandboxes of this host,
// whoever made them.
type Lister interface {
	List(ctx context.Context) ([]Info, error)
}

// Finder is a provider that can return a key's live sandbox without starting
// one, to look at it. Kind: not found.
type Finder interface {
	Find(ctx context.Context, key mapping.Key) (Sandbox, error)
}

// Stopper is a provider that can end a sandbox now, with everything that
// runs in it. Stopping one that is gone is no error.
type Stopper interface {
	Stop(ctx context.Context, key mapping.Key) error
}

// Collector is a provider that can remove what crashed sandboxes left.
type Collector interface {
	// Collect returns what it removed, also beside an error.
	Collect(ctx context.Context) ([]Removed, error)
}

// ThreadDataSharer is a provider that says whether a file put into the
// thread's host directory is visible inside at once.
type ThreadDataSharer interface{ SharesThreadData() bool }

// Config is what every provider is constructed from. The zero value means
// defaults throughout.
type Config struct {
	// Use names the provider; empty means "local". DeerFlow's class paths
	// are understood.
	Use string
	// Home is the data directory; empty means $SANDBOXFS_HOME, else
	// $XDG_DATA_HOME/sandboxfs, else ~/.local/share/sandboxfs.
	Home string
	// SkillsDir is shown at /mnt/skills; empty means Home/skills.
	SkillsDir string
	// RuntimeDir holds sockets and locks; empty means
	// $SANDBOXFS_RUNTIME_DIR, else $XDG_RUNTIME_DIR/sandboxfs, else
	// /run/sandboxfs (root) or /tmp/sandboxfs-UID.
	RuntimeDir string
	// AllowHostBash permits the tier "host".
	AllowHostBash bool
	// Environment is set in every command.
	Environment map[string]string
	// IdleTimeout ends an idle sandbox, in seconds; 0 means 600, negative
	// never.
	IdleTimeout int
	// Mounts are directories of the host that every sandbox shows besides.
	Mounts []Mount
	// Shell is "one-shot" (default) or "persistent": then a script that names
	// no session runs in the session "default" of its thread.
	Shell string
	// Local is the local provider's part.
	Local LocalConfig
}

// Mount shows a directory of the host in every sandbox.
type Mount struct {
	// HostPath is an absolute path of an existing directory.
	HostPath string `json:"host_path"`
	// ContainerPath is where it is shown: absolute, clean, and neither at, nor
	// above, nor below one of the sandbox's own directories.
	ContainerPath string `json:"container_path"`
	// ReadOnly refuses every write below it, in every view.
	ReadOnly bool `json:"read_only"`
}

// LocalConfig configures the local provider.
type LocalConfig struct {
	// Tier is "isolated" (default) or "host".
	Tier string
	// Net is "host" (default) or "none".
	Net string
	// MaxSandboxes bounds the live sandboxes of one host user; 0 means 256.
	MaxSandboxes int
	// Ownership is "owner" (default) or "preserve".
	Ownership string
	// Quota bounds what one thread may hold.
	Quota QuotaConfig
}

// QuotaConfig bounds the data of one thread, in the regions that it owns: workspace,
// uploads, outputs and acp-workspace together. What exceeds it is answered
// EDQUOT.
type QuotaConfig struct {
	// Bytes is the sum of the files' sizes; 0 means no bound.
	Bytes int64 `json:"bytes"`
	// Files is the number of files, directories and links; 0 means no bound.
	Files int64 `json:"files"`
}

// IsZero reports whether nothing is bounded.
func (q QuotaConfig) IsZero() bool { return q == QuotaConfig{} }
