package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

const (
	// maxHandles bounds the handles that one process remembers. A handle is
	// small; an evicted one is acquired again.
	maxHandles = 256
	// acquireTimeout bounds an Acquire whose context has no deadline.
	acquireTimeout = 60 * time.Second
	genericID      = "local"
)

// Provider makes and finds local sandboxes. It is safe for concurrent use.
type Provider struct {
	cfg  provider.Config
	home string // the data directory's real path
	run  *rundir.Root

	mu      sync.Mutex
	handles *lru.Cache[string, *Sandbox]
}

var (
	_ provider.Provider         = (*Provider)(nil)
	_ provider.Lister           = (*Provider)(nil)
	_ provider.Stopper          = (*Provider)(nil)
	_ provider.Collector        = (*Provider)(nil)
	_ provider.Resetter         = (*Provider)(nil)
	_ provider.Shutdowner       = (*Provider)(nil)
	_ provider.ThreadDataSharer = (*Provider)(nil)
)

func init() {
	provider.Register(genericID, []string{"deerflow.sandbox.local:LocalSandboxProvider", "deerflow.sandbox.local.local_sandbox_provider:LocalSandboxProvider"},
		func(_ context.Context, cfg provider.Config) (provider.Provider, error) { return New(cfg) })
}

// New makes a provider from a configuration; defaults are filled in from this
// process's environment ([provider.Config.Resolve]). It makes the data
// directory where it is missing and starts nothing. Kinds: invalid (the
// configuration, a mount whose host path is no directory), denied (tier host
// without AllowHostBash), not found (a mount's host path), unavailable (a
// directory that cannot be made).
func New(cfg provider.Config) (*Provider, error) {
	cfg, err := cfg.Resolve(provider.ProcessEnvironment())
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(cfg.Home + cfg.RuntimeDir + cfg.SkillsDir) {
		return nil, &provider.Error{Kind: provider.Invalid, Op: "configure",
			Reason: "the path of the data, skills or runtime directory is not UTF-8", Next: "give directories whose paths are"}
	}
	if err := os.MkdirAll(cfg.Home, 0o755); err != nil {
		return nil, unavailable("the data directory cannot be made", "set SANDBOXFS_HOME to a directory that you can write to", err)
	}
	dir, err := hostpath.Open(cfg.Home)
	if err != nil {
		return nil, unavailable("the data directory cannot be opened", "set SANDBOXFS_HOME to a directory that you can write to", err)
	}
	defer dir.Close()
	home, err := hostpath.RealPath(dir)
	if err != nil {
		return nil, unavailable("the data directory has no path", "", err)
	}
	if cfg.SkillsDir == path.Join(cfg.Home, "skills") {
		cfg.SkillsDir = path.Join(home, "skills")
	}
	run, err := rundir.Open(cfg.RuntimeDir)
	if err != nil {
		return nil, unavailable(err.Error(), "set SANDBOXFS_RUNTIME_DIR to a directory of your own with mode 0700", err)
	}
	if cfg.Mounts, err = openMounts(cfg, home); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	p := &Provider{cfg: cfg, home: home, run: run}
	p.handles, err = lru.New[string, *Sandbox](maxHandles)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func unavailable(reason, next string, err error) error {
	return &provider.Error{Kind: provider.Unavailable, Op: "configure", Reason: reason, Next: next, Err: err}
}

// IDOf returns the id of a key: "local" without a thread, "local:THREAD" for
// the default user, else "local:USER:THREAD".
func IDOf(key mapping.Key) string {
	if key.IsGeneric() {
		return genericID
	}
	return genericID + ":" + key.String()
}

// KeyOf is the inverse of [IDOf].
func KeyOf(id string) (mapping.Key, error) {
	parts := strings.Split(id, ":")
	var key mapping.Key
	switch {
	case parts[0] != genericID || len(parts) > 3:
		return key, fmt.Errorf("%q is not the id of a local sandbox", id)
	case len(parts) == 2:
		key = mapping.Key{Thread: parts[1]}
	case len(parts) == 3:
		key = mapping.Key{User: parts[1], Thread: parts[2]}
	}
	if len(parts) > 1 && key.IsGeneric() {
		return key, fmt.Errorf("%q is not the id of a local sandbox", id)
	}
	return key.Normalize(), key.Validate()
}

// Get returns the handle of a sandbox that this process acquired.
func (p *Provider) Get(id string) (provider.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.handles.Get(id); ok {
		return s, nil
	}
	return nil, &provider.Error{Kind: provider.NotFound, Op: "get", Reason: fmt.Sprintf("no sandbox %q was acquired here", id), Next: "acquire it again"}
}

// Release parks the sandbox: it ends by itself when it is idle too long.
func (p *Provider) Release(_ context.Context, id string) error {
	if _, err := KeyOf(id); err != nil {
		return &provider.Error{Kind: provider.Invalid, Op: "release", Reason: err.Error()}
	}
	return nil
}

// SharesThreadData is true: the tree shows the thread's host directories.
func (p *Provider) SharesThreadData() bool { return true }

// Reset forgets this process's handles; sandboxes live on.
func (p *Provider) Reset(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.handles.Values() {
		s.close()
	}
	p.handles.Purge()
	return nil
}

// Shutdown forgets this process's handles; sandboxes live on and end when
// they are idle. The provider can be used no more.
func (p *Provider) Shutdown(ctx context.Context) error {
	err := p.Reset(ctx)
	if cerr := p.run.Close(); !errors.Is(cerr, os.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}

func (p *Provider) dir(key mapping.Key) *rundir.Dir { return p.run.Sandbox(p.home, genericID, key) }

// source says which directories a key's tree shows.
func (p *Provider) source(key mapping.Key) regions.Source {
	return regions.Source{Key: key, Home: p.home, SkillsDir: p.cfg.SkillsDir, Mounts: p.cfg.Mounts}
}
