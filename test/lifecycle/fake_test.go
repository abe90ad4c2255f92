package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// host is a machine in memory: what the programs on it share.
type host struct {
	mu    sync.Mutex
	files map[string]map[string]string // by key, then path; outlive sandboxes
	live  map[string]*box              // by id
	locks map[string]chan struct{}     // by id
	made  int
	flaws flaws
}

// flaws break the fake in one way each.
type flaws struct {
	newIDEachTime, sharedUsers, sharedThreads, loseFilesAtStop, acceptInvalid, tracesOfInvalid, inventSandboxes,
	releaseOnce, stopOnce, shutdownOnce, ignoreCancel, noLock, foreignErrors, hideFromList, listDead, wrongInfo,
	resetKeepsHandles, stopAll, genericHasData, crashStaysDead, getFindsOthers, stopIsNoStop, shutdownStops, stopKeepsLock, mixedUp, showsHost bool
}

// box is a live sandbox.
type box struct {
	id, data string
	key      mapping.Key
	dead     bool
}

func newHost(f flaws) *host {
	return &host{files: map[string]map[string]string{}, live: map[string]*box{}, locks: map[string]chan struct{}{}, flaws: f}
}

func (h *host) options() Options {
	return Options{
		Hidden: []string{"/srv/data"},
		New:    h.program,
		AcquireElsewhere: func(ctx context.Context, k mapping.Key) (string, error) {
			return h.newProgram().Acquire(ctx, k)
		},
		Traces: func() ([]string, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return append(slices.Sorted(maps.Keys(h.files)), fmt.Sprint(h.made)), nil
		},
		Crash: func(_ context.Context, k mapping.Key) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, b := range h.live {
				if b.key == k.Normalize() {
					b.dead = true
				}
			}
			return nil
		},
	}
}

// program is one program's provider.
type program struct {
	*host
	acquirer  *provider.Acquirer
	shut      bool
	released  map[string]bool
	stopped   map[string]bool
	programMu sync.Mutex
}

var (
	_ provider.Provider   = (*program)(nil)
	_ provider.Stopper    = (*program)(nil)
	_ provider.Lister     = (*program)(nil)
	_ provider.Resetter   = (*program)(nil)
	_ provider.Shutdowner = (*program)(nil)
)

func (h *host) newProgram() *program {
	p := &program{host: h, released: map[string]bool{}, stopped: map[string]bool{}}
	a, err := provider.NewAcquirer(provider.AcquirerOptions{ID: p.id, Check: p.check, Find: p.find, Lock: p.lock, Create: p.create})
	if err != nil {
		panic(err)
	}
	p.acquirer = a
	return p
}

func (p *program) id(k mapping.Key) string {
	switch {
	case p.flaws.sharedThreads:
		return "fake"
	case p.flaws.sharedUsers:
		return "fake:" + k.Thread
	}
	return "fake:" + k.String()
}

func (p *program) check(_ context.Context, s provider.Sandbox) provider.Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.(*handle).box.dead && !p.flaws.crashStaysDead {
		return provider.HealthDead
	}
	return provider.HealthAlive
}

func (p *program) find(_ context.Context, k mapping.Key) (provider.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, ok := p.live[p.id(k)]; ok && !b.dead && !p.flaws.noLock {
		return &handle{host: p.host, box: b}, nil
	}
	return nil, nil
}

func (p *program) lock(ctx context.Context, k mapping.Key) (func(), error) {
	p.mu.Lock()
	gate, ok := p.locks[p.id(k)]
	if !ok {
		gate = make(chan struct{}, 1)
		p.locks[p.id(k)] = gate
	}
	p.mu.Unlock()
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *program) create(_ context.Context, k mapping.Key) (provider.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	b := &box{id: p.id(k), data: k.String(), key: k}
	if p.flaws.mixedUp && len(p.live) > 0 { // a shared variable in the way
		b.data = "last"
	}
	if p.flaws.sharedThreads || p.flaws.sharedUsers {
		b.data = b.id
	}
	if p.files[b.data] == nil {
		p.files[b.data] = map[string]string{}
	}
	at := b.id
	if p.flaws.noLock { // two programs that do not see each other
		at = fmt.Sprint(b.id, p.made)
	}
	p.live[at] = b
	return &handle{host: p.host, box: b}, nil
}

func (p *program) Acquire(ctx context.Context, k mapping.Key) (string, error) {
	if err := k.Validate(); err != nil {
		switch {
		case p.flaws.acceptInvalid:
			return "fake", nil
		case p.flaws.showsHost:
			return "", &provider.Error{Kind: provider.Invalid, Op: "acquire", Reason: "cannot make /srv/data/" + k.Thread}
		case p.flaws.foreignErrors:
			return "", err
		case p.flaws.tracesOfInvalid:
			p.mu.Lock()
			p.files[k.String()] = map[string]string{}
			p.mu.Unlock()
		}
	}
	if p.flaws.ignoreCancel {
		ctx = context.WithoutCancel(ctx)
	}
	id, err := p.acquirer.Acquire(ctx, k)
	if err == nil && p.flaws.newIDEachTime {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.made++
		return fmt.Sprint(id, "-", p.made), nil
	}
	return id, err
}

func (p *program) Get(id string) (provider.Sandbox, error) {
	if p.flaws.newIDEachTime {
		p.mu.Lock()
		defer p.mu.Unlock()
		for at, b := range p.live {
			if len(id) > len(at) && id[:len(at)] == at {
				return &handle{host: p.host, box: b, id: id}, nil
			}
		}
	}
	s, err := p.acquirer.Get(id)
	switch {
	case err == nil:
		return s, nil
	case p.flaws.inventSandboxes:
		return &handle{host: p.host, box: &box{id: id}}, nil
	case p.flaws.getFindsOthers:
		p.mu.Lock()
		defer p.mu.Unlock()
		if b, ok := p.live[id]; ok {
			return &handle{host: p.host, box: b}, nil
		}
	}
	return nil, err
}

var errFlaw = &provider.Error{Kind: provider.Internal, Op: "fake", Reason: "a second time"}

func (p *program) Release(_ context.Context, id string) error {
	p.programMu.Lock()
	defer p.programMu.Unlock()
	if p.released[id] && p.flaws.releaseOnce {
		return errFlaw
	}
	p.released[id] = true
	return nil
}

func (p *program) Stop(ctx context.Context, k mapping.Key) error {
	if err := k.Validate(); err != nil {
		return &provider.Error{Kind: provider.Invalid, Op: "stop", Reason: err.Error()}
	}
	k = k.Normalize()
	id := p.id(k)
	if p.flaws.stopKeepsLock {
		if _, err := p.lock(ctx, k); err != nil {
			return provider.FromErrno("stop", "", err)
		}
	}
	p.programMu.Lock()
	defer p.programMu.Unlock()
	if p.stopped[id] && p.flaws.stopOnce {
		return errFlaw
	}
	p.stopped[id] = true
	if p.flaws.stopIsNoStop {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, b := range p.live {
		if b.key == k || p.flaws.stopAll {
			b.dead = true
			if !p.flaws.listDead {
				delete(p.live, at)
			}
			if p.flaws.loseFilesAtStop || p.flaws.stopAll {
				clear(p.files[b.data])
			}
		}
	}
	p.acquirer.Forget(id)
	return nil
}

func (p *program) List(context.Context) ([]provider.Info, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var infos []provider.Info
	for _, b := range p.live {
		if b.dead && !p.flaws.listDead || p.flaws.hideFromList {
			continue
		}
		info := provider.Info{ID: b.id, Thread: b.key.Thread, User: b.key.User, Provider: "fake", State: "idle"}
		if p.flaws.wrongInfo {
			info.ID = "other"
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (p *program) Reset(context.Context) error {
	if !p.flaws.resetKeepsHandles {
		p.acquirer.ForgetAll()
	}
	return nil
}

func (p *program) Shutdown(ctx context.Context) error {
	p.programMu.Lock()
	defer p.programMu.Unlock()
	if p.shut && p.flaws.shutdownOnce {
		return errors.New("a second time")
	}
	p.shut = true
	if p.flaws.shutdownStops {
		p.mu.Lock()
		defer p.mu.Unlock()
		clear(p.files)
		clear(p.live)
	}
	return p.Reset(ctx)
}

// handle is a sandbox that can do what the suite asks for.
type handle struct {
	provider.Sandbox
	host *host
	box  *box
	id   string
}

func (h *handle) ID() string {
	if h.id != "" {
		return h.id
	}
	return h.box.id
}

func (h *handle) enter() (unlock func(), err error) {
	h.host.mu.Lock()
	if h.box.dead {
		h.host.mu.Unlock()
		return nil, &provider.Error{Kind: provider.Unavailable, Op: "fake", Reason: "it is gone"}
	}
	return h.host.mu.Unlock, nil
}

func (h *handle) WriteFile(_ context.Context, path string, content []byte, _ provider.WriteMode) error {
	unlock, err := h.enter()
	if err != nil {
		return err
	}
	defer unlock()
	files := h.host.files[h.box.data]
	if files == nil {
		files = map[string]string{}
		h.host.files[h.box.data] = files
	}
	files[path] = string(content)
	return nil
}

func (h *handle) ReadFile(_ context.Context, path string, _ provider.LineRange) ([]byte, error) {
	unlock, err := h.enter()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if text, ok := h.host.files[h.box.data][path]; ok {
		return []byte(text), nil
	}
	return nil, &provider.Error{Kind: provider.NotFound, Op: "read file", Path: path}
}

func (h *handle) ListDir(_ context.Context, path string, _ provider.ListOptions) (*provider.Listing, error) {
	if h.box.key.IsGeneric() && !h.host.flaws.genericHasData {
		return nil, &provider.Error{Kind: provider.NotFound, Op: "list", Path: path}
	}
	return &provider.Listing{}, nil
}
