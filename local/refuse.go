package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// mismatch is a live sandbox that is not to be used by this caller.
type mismatch struct{ err *provider.Error }

func (m mismatch) Error() string { return m.err.Error() }

func (m mismatch) Unwrap() error { return m.err }

// matches refuses a live sandbox of another tier, or one with more network,
// than the configuration demands, and one whose tree is another. One with less
// network is what a caller gets who asks for nothing else. What cannot be known
// is refused too.
func (s *Sandbox) matches(dir *rundir.Dir) error {
	st, err := dir.ReadState()
	if err != nil {
		return mismatch{&provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
			Reason: "the thread's sandbox is running, but its recorded state cannot be read",
			Next:   "stop it first: " + s.stopCommand(), Err: err}}
	}
	cfg := s.p.cfg.Local
	refuse := func(what, have, want string) error {
		return mismatch{&provider.Error{Kind: provider.Conflict, Op: "acquire", Thread: s.key.String(),
			Reason: fmt.Sprintf("the thread's sandbox is running with %s %q, not %q", what, have, want),
			Next:   fmt.Sprintf("stop it first (%s), or ask for the %s that it has: --%s %s", s.stopCommand(), what, what, have)}}
	}
	switch {
	case st.Tier != cfg.Tier:
		return refuse("tier", st.Tier, cfg.Tier)
	case cfg.Net == provider.NetNone && st.Net != provider.NetNone:
		return refuse("net", st.Net, cfg.Net)
	}
	if what := s.changed(st); what != "" {
		return mismatch{&provider.Error{Kind: provider.Conflict, Op: "acquire", Thread: s.key.String(),
			Reason: fmt.Sprintf("the thread's sandbox is running with %s than are configured now", what),
			Next:   "stop it first, the next call starts it anew: " + s.stopCommand()}}
	}
	return nil
}

// changed names what the tree of a live sandbox shows or bounds otherwise than
// the configuration says; "" for nothing. Such a change is not made under
// running commands.
func (s *Sandbox) changed(st rundir.State) string {
	cfg := s.p.cfg
	switch {
	case !slices.Equal(st.Mounts, cfg.Mounts):
		return "other mounts"
	case st.Quota != cfg.Local.Quota:
		return "other limits (quota)"
	case st.Ownership != cfg.Local.Ownership:
		return "other owners of files (ownership)"
	case st.SkillsDir != cfg.SkillsDir:
		return "other skills (skills_dir)"
	}
	return ""
}

// stopCommand is what ends this very sandbox.
func (s *Sandbox) stopCommand() string {
	if s.key.User == mapping.DefaultUser {
		return "sandboxfs stop " + s.key.Thread
	}
	return fmt.Sprintf("sandboxfs stop --user %s %s", s.key.User, s.key.Thread)
}

// fail gives an error the operation and the thread.
func (s *Sandbox) fail(ctx context.Context, err error) error {
	var m mismatch
	if errors.As(err, &m) {
		return m.err
	}
	var e *provider.Error
	if errors.As(err, &e) {
		c := *e
		c.Op, c.Thread = "acquire", s.key.String()
		return &c
	}
	if ctx.Err() != nil {
		return &provider.Error{Kind: provider.Timeout, Op: "acquire", Thread: s.key.String(),
			Reason: "the sandbox was not ready in time", Next: "try again, or end it: " + s.stopCommand(), Err: err}
	}
	var no unix.Errno
	if errors.Is(err, os.ErrClosed) {
		return &provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
			Reason: "the provider was shut down", Next: "make another one", Err: err}
	}
	if errors.As(err, &no) {
		return &provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
			Reason: "the runtime directory cannot be used: " + no.Error(), Next: "look at its space and permissions, or set SANDBOXFS_RUNTIME_DIR to another directory", Err: err}
	}
	return &provider.Error{Kind: provider.Unavailable, Op: "acquire", Thread: s.key.String(),
		Reason: "the sandbox cannot be reached", Next: "end it and try again: " + s.stopCommand(), Err: err}
}
