package local

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

const (
	// healthTimeout is how long a live guest may take to answer before it
	// counts as unknown, which is not dead.
	healthTimeout = 5 * time.Second
	// maxTries bounds how often one call finds its sandbox just ended and
	// starts it again.
	maxTries = 3
)

// Sandbox is a handle of one local sandbox. It stays valid when the sandbox
// ends: idleness is invisible, the next call starts it again. It is safe for
// concurrent use.
type Sandbox struct {
	p      *Provider
	id     string
	key    mapping.Key
	client *guest.Client
	// whatever is set where the sandbox is looked at or ended, and not used:
	// then its tier and network do not matter.
	whatever bool
}

var (
	_ provider.Sandbox   = (*Sandbox)(nil)
	_ provider.Starter   = (*Sandbox)(nil)
	_ provider.Describer = (*Sandbox)(nil)
	_ provider.Sessioner = (*Sandbox)(nil)
	_ provider.JobKeeper = (*Sandbox)(nil)
)

func newSandbox(p *Provider, id string, key mapping.Key) *Sandbox {
	s := &Sandbox{p: p, id: id, key: key}
	s.client = guest.NewClient(guest.ClientOptions{ID: id, Thread: key.String(), Dial: s.dial, SessionEnv: p.cfg.Environment})
	return s
}

// anySandbox is a handle that only looks at a sandbox or ends it.
func anySandbox(p *Provider, id string, key mapping.Key) *Sandbox {
	s := newSandbox(p, id, key)
	s.whatever = true
	return s
}

func (s *Sandbox) close() { s.client.Close() }

// ID returns the sandbox's id.
func (s *Sandbox) ID() string { return s.id }

// health asks the guest whether it lives.
func (s *Sandbox) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, err := s.client.Describe(ctx)
	return err
}

// isGone reports whether a guest certainly serves no more, so that another
// may be made: nobody listens, or it said that it is ending.
func isGone(err error) bool {
	var m mismatch
	if errors.As(err, &m) {
		return false
	}
	return errors.Is(err, guest.ErrNotStarted) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

// again runs a call, and once more after starting the sandbox anew where it
// ended before the call began.
func again[T any](ctx context.Context, s *Sandbox, call func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		v, err := call()
		if err == nil || try == maxTries || !isGone(err) || ctx.Err() != nil {
			var m mismatch
			if errors.As(err, &m) {
				err = m.err
			}
			return v, err
		}
		if err := s.ensure(ctx); err != nil {
			var zero T
			return zero, err
		}
	}
}

// reading is again for a call that changes nothing: it is repeated also where
// the keeper died under it, and the tree with it.
func reading[T any](ctx context.Context, s *Sandbox, call func() (T, error)) (T, error) {
	v, err := again(ctx, s, call)
	if kind := provider.KindOf(err); kind != provider.Unavailable && kind != provider.Internal {
		return v, err
	}
	// A killed process closes its descriptors one after the other: the tree
	// may be gone a moment before the lock that says that the keeper lives.
	dying, cancel := context.WithTimeout(ctx, deathMoment)
	defer cancel()
	if s.p.dir(s.key).WaitDead(dying) != nil {
		return v, err
	}
	if err := s.ensure(ctx); err != nil {
		var zero T
		return zero, err
	}
	return again(ctx, s, call)
}

// deathMoment is how long a killed keeper may take to be seen dead.
const deathMoment = 200 * time.Millisecond

// complete gives a command what the configuration says of all of them. A session
// gets the environment once, when it is made: what its commands do to it stays.
func (s *Sandbox) complete(c provider.Command) provider.Command {
	c = s.withSession(c)
	if len(s.p.cfg.Environment) == 0 || c.Session != "" {
		return c
	}
	env := make(map[string]string, len(s.p.cfg.Environment)+len(c.Env))
	for k, v := range s.p.cfg.Environment {
		env[k] = v
	}
	for k, v := range c.Env {
		env[k] = v
	}
	c.Env = env
	return c
}

// Execute implements [provider.Sandbox].
func (s *Sandbox) Execute(ctx context.Context, c provider.Command) (*provider.Result, error) {
	return again(ctx, s, func() (*provider.Result, error) { return s.client.Execute(ctx, s.complete(c)) })
}

// Start implements [provider.Starter].
func (s *Sandbox) Start(ctx context.Context, c provider.Command) (provider.Process, error) {
	return again(ctx, s, func() (provider.Process, error) { return s.client.Start(ctx, s.complete(c)) })
}

// Describe implements [provider.Describer]. It does not start the sandbox.
func (s *Sandbox) Describe(ctx context.Context) (*provider.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	info, err := s.client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if st, err := s.p.dir(s.key).ReadState(); err == nil {
		info = withState(*info, st)
	}
	return info, nil
}

// ReadFile implements [provider.Sandbox].
func (s *Sandbox) ReadFile(ctx context.Context, path string, lines provider.LineRange) ([]byte, error) {
	return reading(ctx, s, func() ([]byte, error) { return s.client.ReadFile(ctx, path, lines) })
}

// WriteFile implements [provider.Sandbox].
func (s *Sandbox) WriteFile(ctx context.Context, path string, content []byte, mode provider.WriteMode) error {
	_, err := again(ctx, s, func() (struct{}, error) { return struct{}{}, s.client.WriteFile(ctx, path, content, mode) })
	return err
}

// ReplaceInFile implements [provider.Sandbox].
func (s *Sandbox) ReplaceInFile(ctx context.Context, path string, r provider.Replacement) (*provider.ReplaceResult, error) {
	return again(ctx, s, func() (*provider.ReplaceResult, error) { return s.client.ReplaceInFile(ctx, path, r) })
}

// DownloadFile implements [provider.Sandbox].
func (s *Sandbox) DownloadFile(ctx context.Context, path string) (io.ReadCloser, error) {
	return reading(ctx, s, func() (io.ReadCloser, error) { return s.client.DownloadFile(ctx, path) })
}

// ListDir implements [provider.Sandbox].
func (s *Sandbox) ListDir(ctx context.Context, path string, o provider.ListOptions) (*provider.Listing, error) {
	return reading(ctx, s, func() (*provider.Listing, error) { return s.client.ListDir(ctx, path, o) })
}

// Glob implements [provider.Sandbox].
func (s *Sandbox) Glob(ctx context.Context, path, pattern string, o provider.GlobOptions) (*provider.GlobResult, error) {
	return reading(ctx, s, func() (*provider.GlobResult, error) { return s.client.Glob(ctx, path, pattern, o) })
}

// Grep implements [provider.Sandbox].
func (s *Sandbox) Grep(ctx context.Context, path, pattern string, o provider.GrepOptions) (*provider.GrepResult, error) {
	return reading(ctx, s, func() (*provider.GrepResult, error) { return s.client.Grep(ctx, path, pattern, o) })
}

// UpdateFile writes as the operator, on the host side and without starting
// the sandbox: the tree shows the change. Symlinks are not followed, since the
// agent may have put them there.
func (s *Sandbox) UpdateFile(ctx context.Context, name string, content []byte) error {
	const op = "update file"
	fail := func(kind provider.Kind, reason, next string, err error) error {
		return &provider.Error{Kind: kind, Op: op, Thread: s.key.String(), Path: name, Reason: reason, Next: next, Err: err}
	}
	if len(content) > provider.MaxWriteFile {
		return fail(provider.TooLarge, "the content is larger than 64 MiB", "copy the file into the thread's directory on the host", nil)
	}
	source := s.p.source(s.key)
	table, err := source.Table()
	if err != nil {
		return fail(provider.Invalid, err.Error(), "", err)
	}
	switch {
	case strings.Contains(name+"/", "/../"):
		return fail(provider.Denied, "a path with .. is refused", "give the path without ..", nil)
	case strings.ContainsRune(name, 0), len(name) >= unix.PathMax:
		return fail(provider.Invalid, "no file can have this path", "give a path of fewer than 4096 bytes without a NUL byte", nil)
	case strings.HasSuffix(name, "/"):
		return fail(provider.Invalid, "it is the path of a directory", "name the file", nil)
	}
	region, rest, ok := table.Lookup(path.Clean(name))
	switch {
	case !ok || rest == "":
		return fail(provider.NotFound, "it lies in no directory of the thread", "write below "+mapping.UserData+"/uploads, workspace or outputs", nil)
	case region.Access(mapping.OperatorView) == mapping.ReadOnly:
		return fail(provider.ReadOnlyFS, region.Virtual+" is read-only", "write below "+mapping.UserData, nil)
	}
	if err := ctx.Err(); err != nil {
		return fail(provider.Timeout, "given up before it began", "", err)
	}
	var ledger *quota.Ledger // nil counts nothing
	if slices.Contains(quota.Regions(table), region.Virtual) {
		if ledger, err = quota.ForThread(ctx, s.p.run, source, s.p.cfg.Local.Quota); err != nil {
			return hostError(op, s.key.String(), name, err)
		}
		defer ledger.Close()
	}
	root, err := source.OpenRegion(region)
	if err != nil {
		return fail(provider.KindOf(err), region.Virtual+" cannot be opened on the host", "check SANDBOXFS_HOME and the host_path of the mount", err)
	}
	defer root.Close()
	parts := strings.Split(rest, "/")
	dir, err := ledger.MakeDirs(root, 0o755, parts[:len(parts)-1]...)
	if err != nil {
		return hostError(op, s.key.String(), name, err)
	}
	defer dir.Close()
	if err := ledger.WriteFile(dir, parts[len(parts)-1], content, 0o644); err != nil {
		return hostError(op, s.key.String(), name, err)
	}
	return nil
}
