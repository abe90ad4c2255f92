package plainbox

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/sandboxfs/sandboxfs/guest/file"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Provider makes sandboxes below a directory. It is safe for concurrent use.
type Provider struct {
	dir string

	mu    sync.Mutex
	boxes map[string]*Sandbox
	made  int
}

// New returns a provider for a directory, such as a test's own.
func New(dir string) *Provider { return &Provider{dir: dir, boxes: map[string]*Sandbox{}} }

// Made counts the sandboxes that were made.
func (p *Provider) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// Acquire implements [provider.Provider].
func (p *Provider) Acquire(_ context.Context, key mapping.Key) (string, error) {
	if err := key.Validate(); err != nil {
		return "", &provider.Error{Kind: provider.Invalid, Op: "acquire", Reason: err.Error()}
	}
	key = key.Normalize()
	id := "plain:" + key.User + ":" + key.Thread
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes[id] != nil {
		return id, nil
	}
	root := filepath.Join(p.dir, key.User, key.Thread)
	for _, dir := range []string{mapping.Workspace, mapping.Uploads, mapping.Outputs} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			return "", provider.FromErrno("acquire", "", err)
		}
	}
	p.boxes[id] = &Sandbox{id: id, root: root, files: file.New()}
	p.made++
	return id, nil
}

// Get implements [provider.Provider].
func (p *Provider) Get(id string) (provider.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.boxes[id]; s != nil {
		return s, nil
	}
	return nil, &provider.Error{Kind: provider.NotFound, Op: "get", Reason: "this process acquired no sandbox of that id", Next: "acquire it again"}
}

// Release implements [provider.Provider].
func (p *Provider) Release(context.Context, string) error { return nil }
