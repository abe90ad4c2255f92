package exec

import "context"

// Slot is a place for commands that belong together: they run one after the
// other in one process tree, and what one leaves running lives on, is seen and
// can be signalled by the next, until Close ends everything. Commands of other
// slots neither see nor signal it where there are pid namespaces.
//
// Its methods are safe for concurrent callers, but that only one command may
// run at a time.
type Slot struct{ s *slotHandle }

// Reserve takes a slot of its own for the caller, who closes it. The errors are
// those of [Executor.Start].
func (e *Executor) Reserve(ctx context.Context) (*Slot, error) {
	for {
		s, fresh, err := e.acquire(ctx)
		if err != nil {
			return nil, startError("a session", err)
		}
		if s.isLost() && !fresh {
			continue // an idle slot had died
		}
		s.held = true
		return &Slot{s}, nil
	}
}

// Start starts a command in the slot; see [Executor.Start]. Unlike there, the
// end of the main process ends nothing else, and [Process.Kill] ends everything
// in the slot.
func (s *Slot) Start(ctx context.Context, c Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p, err := s.s.start(ctx, &c)
	if err != nil {
		return nil, startError(c.Argv[0], err)
	}
	return p, nil
}

// Pid is the number of the slot's own process, as the calling process sees it:
// the ancestor of everything that runs in the slot.
func (s *Slot) Pid() int { return s.s.pid }

// Done is closed when the slot has ended, and everything in it: by Close, or
// because it was killed.
func (s *Slot) Done() <-chan struct{} { return s.s.done }

// Close ends everything in the slot. It returns at once; Done tells the end.
func (s *Slot) Close() { s.s.discard() }
