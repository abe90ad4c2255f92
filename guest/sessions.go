package guest

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/shell"
	"github.com/sandboxfs/sandboxfs/provider"
)

// maxSessions bounds the sessions of one sandbox. One more takes the place of
// the one that has been idle longest, but never of a busy one nor of one with
// jobs.
const maxSessions = 16

// sessions are the named shells of a sandbox. All methods are safe for
// concurrent use.
type sessions struct {
	o shell.Options // but for Env
	// env makes the environment of a session's first shell.
	env func(extra map[string]string) []string
	now func() time.Time

	mu     sync.Mutex // guards what follows; held over no call that waits
	byName map[string]*session
	closed bool
}

// session is one of them. Commands run one after the other, in the order in
// which they came.
type session struct {
	name    string
	shell   *shell.Session
	created time.Time
	// turn holds a token while no command runs.
	turn  chan struct{}
	ended chan struct{} // closed when the session is

	// The following is guarded by sessions.mu.
	waiting  int // commands that have come and not begun
	current  string
	busy     bool
	commands int
	used     time.Time // when the last command ended
	begun    bool      // a command has started in it
	// untold is what happened under commands whose callers were gone.
	untold *provider.SessionChange
}

func newSessions(o shell.Options, env func(map[string]string) []string, now func() time.Time) *sessions {
	return &sessions{o: o, env: env, now: now, byName: map[string]*session{}}
}

// sessionCommand is a command and what its session is made with, should it be
// the first.
type sessionCommand struct {
	shell.Command
	env map[string]string
}

// start runs a command in a session when its turn comes; an end of the context
// before that takes it out of the queue. Kinds: unavailable (no room), conflict
// (the session was closed meanwhile); else those of [exec.Executor.Start].
func (ss *sessions) start(ctx context.Context, name string, c sessionCommand) (process, error) {
	s, err := ss.enter(name, c.env)
	if err != nil {
		return nil, err
	}
	err = s.await(ctx)
	ss.mu.Lock()
	s.waiting--
	if err == nil {
		s.busy, s.current = true, c.Text
		s.commands++
	}
	ss.mu.Unlock()
	if err != nil {
		return nil, err
	}
	run, err := s.shell.Start(ctx, c.Command)
	if err != nil {
		ss.leave(s)
		ss.forgetUnbegun(s)
		return nil, err
	}
	p := &sessionRun{run: run, done: make(chan struct{}), keep: func(c *provider.SessionChange) { ss.keep(s, c) }}
	ss.mu.Lock()
	if !s.begun {
		s.begun, p.change = true, &provider.SessionChange{Reason: "the session is new"}
	}
	if s.untold != nil {
		p.change, s.untold = join(p.change, s.untold), nil
	}
	ss.mu.Unlock()
	go func() {
		defer close(p.done)
		status, change := run.Wait()
		p.status = status
		if change != nil {
			p.change = join(p.change, &provider.SessionChange{Reason: change.Reason, Lost: change.Lost})
		}
		ss.leave(s)
	}()
	return p, nil
}

// enter finds or makes a session, which is not evicted while it is waited for.
func (ss *sessions) enter(name string, env map[string]string) (*session, error) {
	for {
		ss.mu.Lock()
		if ss.closed {
			ss.mu.Unlock()
			return nil, errEnding()
		}
		if s := ss.byName[name]; s != nil {
			s.waiting++
			ss.mu.Unlock()
			return s, nil
		}
		if len(ss.byName) < maxSessions {
			o := ss.o
			o.Env = ss.env(env)
			now := ss.now()
			s := &session{name: name, shell: shell.New(o), created: now, used: now, turn: make(chan struct{}, 1), ended: make(chan struct{}), waiting: 1}
			s.turn <- struct{}{}
			ss.byName[name] = s
			ss.mu.Unlock()
			return s, nil
		}
		candidates := ss.idleLocked()
		ss.mu.Unlock()
		if !ss.evictOne(candidates) {
			return nil, &provider.Error{Kind: provider.Unavailable, Op: opExecute,
				Reason: fmt.Sprintf("%d sessions are live, as many as are allowed, and all run a command or have background jobs", maxSessions),
				Next:   "close one, or use one that there is"}
		}
	}
}

// idleLocked returns the sessions without a command, the longest idle first.
func (ss *sessions) idleLocked() []*session {
	var idle []*session
	for _, s := range ss.byName {
		if !s.busy && s.waiting == 0 {
			idle = append(idle, s)
		}
	}
	sort.Slice(idle, func(i, j int) bool { return idle[i].used.Before(idle[j].used) })
	return idle
}

// evictOne closes the first session that has no jobs, and says whether there
// was one.
func (ss *sessions) evictOne(candidates []*session) bool {
	jobs := jobsOf(candidates)
	for i, s := range candidates {
		if jobs[i] > 0 {
			continue
		}
		ss.mu.Lock()
		still := ss.byName[s.name] == s && !s.busy && s.waiting == 0
		if still {
			ss.removeLocked(s)
		}
		room := len(ss.byName) < maxSessions
		ss.mu.Unlock()
		if still {
			s.shell.Close()
		}
		if room {
			return true
		}
	}
	return false
}

func (ss *sessions) removeLocked(s *session) {
	delete(ss.byName, s.name)
	close(s.ended)
}

// await waits for the session's turn.
func (s *session) await(ctx context.Context) error {
	closed := &provider.Error{Kind: provider.Conflict, Op: opExecute, Reason: fmt.Sprintf("the session %s was closed before the command began", s.name), Next: "run it again, in a new session"}
	select {
	case <-s.turn:
	case <-s.ended:
		return closed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.ended:
		return closed
	default:
		return nil
	}
}

// leave gives the turn to the next command.
func (ss *sessions) leave(s *session) {
	ss.mu.Lock()
	s.busy, s.current, s.used = false, "", ss.now()
	ss.mu.Unlock()
	s.turn <- struct{}{}
}

// forgetUnbegun removes a session whose first command did not start, unless
// another one waits to be the first.
func (ss *sessions) forgetUnbegun(s *session) {
	ss.mu.Lock()
	gone := !s.begun && !s.busy && s.waiting == 0 && ss.byName[s.name] == s
	if gone {
		ss.removeLocked(s)
	}
	ss.mu.Unlock()
	if gone {
		s.shell.Close()
	}
}

// keep has what the caller of a command could not be told told with the next.
func (ss *sessions) keep(s *session, c *provider.SessionChange) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.untold = join(s.untold, c)
}

// list describes the sessions, by name.
func (ss *sessions) list() []provider.SessionInfo {
	infos := []provider.SessionInfo{}
	all := ss.all()
	jobs := jobsOf(all)
	for n, s := range all {
		dir := s.shell.Dir()
		ss.mu.Lock()
		i := provider.SessionInfo{Name: s.name, State: "ready", Dir: dir, Created: s.created.UTC().Format(time.RFC3339), Commands: s.commands, Jobs: jobs[n]}
		if s.busy {
			i.State = "busy"
		} else {
			i.IdleSeconds = max(ss.now().Sub(s.used), 0).Seconds()
		}
		ss.mu.Unlock()
		infos = append(infos, i)
	}
	return infos
}

func (ss *sessions) all() []*session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	all := make([]*session, 0, len(ss.byName))
	for _, s := range ss.byName {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}

// count returns how many sessions and jobs there are.
func (ss *sessions) count() (live, jobs int) {
	all := ss.all()
	for _, n := range jobsOf(all) {
		jobs += n
	}
	return len(all), jobs
}

// jobsOf counts the jobs of each session.
func jobsOf(all []*session) []int {
	shells := make([]*shell.Session, len(all))
	for i, s := range all {
		shells[i] = s.shell
	}
	return shell.CountJobs(shells...)
}

// close ends a session with everything that runs in it, and reports whether
// there was one.
func (ss *sessions) close(name string) bool {
	ss.mu.Lock()
	s := ss.byName[name]
	if s != nil {
		ss.removeLocked(s)
	}
	ss.mu.Unlock()
	if s == nil {
		return false
	}
	s.shell.Close()
	return true
}

// closeAll ends every session; none is made any more.
func (ss *sessions) closeAll() {
	ss.mu.Lock()
	ss.closed = true
	ss.mu.Unlock()
	var work sync.WaitGroup
	for _, s := range ss.all() {
		work.Go(func() { ss.close(s.name) })
	}
	work.Wait()
}

// join adds what is told later to what was told before.
func join(known, more *provider.SessionChange) *provider.SessionChange {
	if known == nil {
		return more
	}
	return &provider.SessionChange{Reason: known.Reason + "; " + more.Reason, Lost: slices.Concat(known.Lost, more.Lost)}
}
