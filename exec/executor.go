package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Executor runs commands in slots. Its methods are safe for concurrent callers.
type Executor struct {
	cfg         Config
	form        form
	landlockABI int
	bounds      processBounds
	whyNot      string // why the better form was not taken

	reaper *reaper

	mu      sync.Mutex    // guards what follows; a leaf: held over no call that waits
	idle    []*slotHandle // the longest idle first
	trimmer *time.Timer
	running int
	closed  bool
	making  sync.WaitGroup // slots that acquire is making; Close waits for them
	closing sync.Once
	stuck   error // of Close
	live    map[*slotHandle]struct{}
}

// guestThreads is how many threads the guest keeps to spare.
const guestThreads = 4

// spareSlots is how many slots more than are in use may have been there when one
// was made that is used again.
const spareSlots = 8

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("the executor is closed")

// New makes an executor. It probes the mechanism by making a real slot, which
// stays as the first warm one: a version number says nothing about what a
// container lets through. The error names the call that failed and its cure.
//
// The process should be pid 1 of its sandbox. Without pid namespaces it becomes
// a subreaper otherwise, it calls [CatchSignals], and every child that it did
// not start through this executor is taken for a command's left-over when a slot
// is lost.
func New(cfg Config) (*Executor, error) {
	e := &Executor{cfg: cfg.withDefaults(), live: map[*slotHandle]struct{}{}}
	e.bounds.commands = e.cfg.MaxProcesses
	if e.cfg.MaxProcesses == 0 {
		var err error
		if e.bounds, err = ownBounds(); err != nil {
			return nil, err
		}
	}
	reserveThreads(guestThreads)
	e.reaper = newReaper()
	first, err := e.probe()
	if err != nil {
		e.reaper.stop()
		return nil, err
	}
	if e.cfg.KillTimeout <= 0 {
		e.cfg.KillTimeout = 2 * time.Second
		if e.form == formSubreaper {
			e.cfg.KillTimeout = 10 * time.Second
		}
	}
	e.landlockABI = first.landlockABI
	if e.form == formSubreaper {
		e.reaper.adoptOrphans()
	}
	e.release(first)
	return e, nil
}

// probe chooses the form.
func (e *Executor) probe() (*slotHandle, error) {
	ctx, cancel := context.WithTimeout(context.Background(), slotStartTimeout)
	defer cancel()
	var first error
	if e.cfg.Form != FormSubreaperOnly {
		e.form = formNamespace
		if e.cfg.Early != nil {
			if s, err := e.adopt(ctx, e.cfg.Early); err == nil {
				return s, nil
			}
		}
		s, err := e.newSlot(ctx)
		if err == nil {
			return s, nil
		}
		if e.cfg.Form == FormNamespaceOnly {
			return nil, fmt.Errorf("make a pid namespace for commands: %w; the guest needs CAP_SYS_ADMIN in its user namespace and an unmasked /proc", err)
		}
		e.whyNot, first = err.Error(), err
	}
	if e.bounds.commands == 0 {
		if err := processLimit(); err != nil {
			return nil, errors.Join(err, first)
		}
	}
	e.form = formSubreaper
	CatchSignals() // commands may be able to signal this process
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	s, err := e.newSlot(ctx)
	if err != nil {
		return nil, fmt.Errorf("make a slot for commands: %w", err)
	}
	return s, nil
}

// Mechanism says how trees are ended: [MechanismNamespace], [MechanismScoped]
// or [MechanismSubreaper].
func (e *Executor) Mechanism() string { return mechanism(e.form, e.landlockABI) }

// Isolation says by name which mechanism stands behind each promise of this
// package: "tree_end", "seccomp", "landlock", and "tree_end_reason" where the
// better form could not be had.
func (e *Executor) Isolation() map[string]string {
	m := map[string]string{
		"tree_end": e.Mechanism(),
		"seccomp":  "allow-list",
		"landlock": "none: the kernel has no scoping (6.12)",
	}
	if e.cfg.Confinement == Unconfined {
		m["seccomp"], m["landlock"] = "none: unconfined", "none: unconfined"
	} else if canScope(e.landlockABI) {
		m["landlock"] = fmt.Sprintf("signals and abstract sockets scoped (ABI %d)", e.landlockABI)
	}
	if e.whyNot != "" {
		m["tree_end_reason"] = e.whyNot
	}
	return m
}

// Running is the number of commands that have been started and not yet ended.
func (e *Executor) Running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running
}

// Start starts a command. The context bounds the start alone; a started command
// runs until it ends or is ended. The error is a [*StartError], the context's,
// or ErrClosed; nothing runs then.
//
// The caller reads Stdout and Stderr to their ends or closes them, and calls
// Wait.
func (e *Executor) Start(ctx context.Context, c Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	for fails := 0; ; {
		s, fresh, err := e.acquire(ctx)
		if err == nil {
			var p *Process
			p, err = s.start(ctx, &c)
			if errors.Is(err, errSlotUnused) && !fresh {
				continue // an idle slot had died: killed for memory, most likely
			}
			if err == nil {
				return p, nil
			}
		}
		if fails++; fails < e.attempts() && (errors.Is(err, errSlotUnused) || errors.Is(err, errSlotLost)) {
			continue
		}
		return nil, startError(c.Argv[0], err)
	}
}

// attempts is how often a fresh slot is tried: commands that are neither in
// namespaces nor scoped can kill one while it starts.
func (e *Executor) attempts() int {
	if e.form == formSubreaper && !canScope(e.landlockABI) {
		return 5
	}
	return 1
}

// acquire takes the most recently used idle slot or makes a new one.
func (e *Executor) acquire(ctx context.Context) (s *slotHandle, fresh bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, false, ErrClosed
	}
	for n := len(e.idle); n > 0; n-- {
		s = e.idle[n-1]
		e.idle = e.idle[:n-1]
		// Made when there were many, a slot lets its commands have more
		// processes than is right now; what was given cannot be taken back.
		if s.limit > e.bounds.forSlot(e.running+e.cfg.WarmSlots+spareSlots) {
			s.discard()
			continue
		}
		e.mu.Unlock()
		return s, false, nil
	}
	e.making.Add(1)
	e.mu.Unlock()
	defer e.making.Done()
	limited, cancel := context.WithTimeout(ctx, slotStartTimeout)
	defer cancel()
	s, err = e.newSlot(limited)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, true, ctx.Err()
	case err != nil && limited.Err() != nil:
		return nil, true, errSlotLate
	}
	return s, true, err
}

// release puts a slot that swept clean back.
func (e *Executor) release(s *slotHandle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || s.isLost() {
		s.discard()
		return
	}
	s.idleSince = time.Now()
	e.idle = append(e.idle, s)
	e.trimLocked()
}

// trimLocked ends slots that have been idle too long and sets the timer for the
// next.
func (e *Executor) trimLocked() {
	now := time.Now()
	next := time.Duration(-1)
	for len(e.idle) > 0 {
		limit := e.cfg.IdleTimeout
		if len(e.idle) > e.cfg.WarmSlots {
			limit = e.cfg.SurplusTimeout
		}
		if limit < 0 {
			break
		}
		left := limit - now.Sub(e.idle[0].idleSince)
		if left > 0 {
			next = left
			break
		}
		e.idle[0].discard()
		e.idle = e.idle[1:]
	}
	switch {
	case next < 0:
	case e.trimmer == nil:
		e.trimmer = time.AfterFunc(next, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.trimLocked()
		})
	default:
		e.trimmer.Reset(next)
	}
}

// forget drops a slot that has ended.
func (e *Executor) forget(s *slotHandle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.live, s)
	e.idle = slices.DeleteFunc(e.idle, func(i *slotHandle) bool { return i == s })
}

// count adds to the number of running commands.
func (e *Executor) count(n int) {
	e.mu.Lock()
	e.running += n
	e.mu.Unlock()
}

// Close ends every running command, and every slot, and returns when they are
// gone; the error says how many were not within a few seconds (blocked in an
// uninterruptible call). Later calls return the same.
func (e *Executor) Close() error {
	e.closing.Do(func() { e.stuck = e.close() })
	return e.stuck
}

func (e *Executor) close() error {
	e.mu.Lock()
	e.closed = true
	if e.trimmer != nil {
		e.trimmer.Stop()
	}
	e.idle = nil
	e.mu.Unlock()
	e.making.Wait()
	e.mu.Lock()
	all := make([]*slotHandle, 0, len(e.live))
	for s := range e.live {
		all = append(all, s)
	}
	e.mu.Unlock()
	for _, s := range all {
		s.discard()
	}
	deadline := time.NewTimer(2 * e.cfg.KillTimeout)
	defer deadline.Stop()
	late := false
	stuck := 0
	for _, s := range all {
		if !late {
			select {
			case <-s.done:
				continue
			case <-deadline.C:
				late = true
			}
		}
		select {
		case <-s.done:
		default:
			stuck++
		}
	}
	e.reaper.stop()
	if stuck > 0 {
		return fmt.Errorf("end commands: %d are blocked in the kernel", stuck)
	}
	return nil
}
