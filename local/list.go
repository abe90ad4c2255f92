package local

import (
	"context"
	"errors"
	"maps"
	"sort"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// abandonedAfter is how old an empty cgroup of no known sandbox must be for gc
// to remove it: far longer than a sandbox that is being made has it empty.
const abandonedAfter = time.Minute

// stopTimeout is how long an orderly end may take before the keeper is
// killed.
const stopTimeout = 10 * time.Second

// List returns the sandboxes of this host user and data directory, dead ones
// that gc would remove included, by id. One that does not answer is "unknown".
func (p *Provider) List(ctx context.Context) ([]provider.Info, error) {
	dirs, err := p.run.List()
	if err != nil {
		return nil, unavailable("the runtime directory cannot be read", "", err)
	}
	var infos []provider.Info
	for _, dir := range dirs {
		st, err := dir.ReadState()
		if err != nil || st.Home != p.home {
			continue // being made, or another home's
		}
		infos = append(infos, *p.describe(ctx, dir, st))
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].ID < infos[j].ID })
	return infos, nil
}

func (p *Provider) describe(ctx context.Context, dir *rundir.Dir, st rundir.State) *provider.Info {
	info := &provider.Info{State: "dead"}
	if dir.Keeper() != 0 {
		s := anySandbox(p, st.ID, mapping.Key{User: st.User, Thread: st.Thread})
		defer s.close()
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		switch live, err := s.client.Describe(ctx); {
		case err == nil:
			info = live
		case isGone(err):
			info.State = "starting" // or about to be dead
		default:
			info.State = "unknown"
		}
	}
	return withState(*info, st)
}

// withState puts what the keeper recorded over what the guest answered: who a
// sandbox is is the host's to say.
func withState(info provider.Info, st rundir.State) *provider.Info {
	info.ID, info.User, info.Thread, info.Provider, info.Created = st.ID, st.User, st.Thread, st.Provider, st.Created
	isolation := maps.Clone(st.Isolation)
	if isolation == nil {
		isolation = map[string]string{}
	}
	for k, v := range info.Isolation {
		if _, known := isolation[k]; !known {
			isolation[k] = v
		}
	}
	info.Isolation = isolation
	return &info
}

// Stop ends a sandbox now, with all that runs in it, and returns when nothing
// of it is left. Kinds: invalid, unavailable.
func (p *Provider) Stop(ctx context.Context, key mapping.Key) error {
	if err := key.Validate(); err != nil {
		return &provider.Error{Kind: provider.Invalid, Op: "stop", Reason: err.Error()}
	}
	key = key.Normalize()
	s := anySandbox(p, IDOf(key), key)
	defer s.close()
	return p.stop(ctx, s, guest.StopNow)
}

func (p *Provider) stop(ctx context.Context, s *Sandbox, how guest.StopMode) error {
	dir := p.dir(s.key)
	pid := dir.Keeper()
	if pid == 0 {
		return p.bury(ctx, dir)
	}
	wait, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err := s.client.Stop(wait, how)
	if err != nil && how == guest.StopIfIdle && !isGone(err) {
		return err
	}
	if err == nil || isGone(err) {
		if dir.WaitDead(wait) == nil {
			return p.bury(ctx, dir)
		}
	}
	// It does not answer, or does not end. The kernel names the keeper's pid
	// as the holder of the record lock, so it is the keeper's still.
	if pid = dir.Keeper(); pid != 0 {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && err != unix.ESRCH {
			return s.failStop(err)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := dir.WaitDead(last); err != nil {
		return s.failStop(err)
	}
	return p.bury(ctx, dir)
}

func (s *Sandbox) failStop(err error) error {
	return &provider.Error{Kind: provider.Unavailable, Op: "stop", Thread: s.key.String(),
		Reason: "the sandbox did not end", Next: "look for its sandboxfsd in the process list", Err: err}
}

// bury removes what a dead sandbox left: its cgroup and its runtime
// directory. Another process may be making it anew, and then nothing is done.
func (p *Provider) bury(ctx context.Context, dir *rundir.Dir) error {
	lock, err := dir.TryLock()
	if err != nil || lock == nil {
		return err
	}
	if dir.Keeper() != 0 {
		lock.Unlock()
		return nil
	}
	return buryLocked(ctx, dir, lock)
}

// buryLocked is bury for the holder of the lock, which it gives back.
func buryLocked(ctx context.Context, dir *rundir.Dir, lock *rundir.Lock) (err error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if st, stateErr := dir.ReadState(); stateErr == nil && st.Cgroup != "" {
		err = cgroup.Remove(ctx, st.Cgroup)
	}
	if err != nil {
		lock.Unlock()
		return &provider.Error{Kind: provider.Unavailable, Op: "stop", Reason: "the sandbox's cgroup is not empty yet", Next: "run: sandboxfs gc", Err: err}
	}
	if err := lock.Remove(); err != nil {
		return &provider.Error{Kind: provider.Unavailable, Op: "stop", Reason: "the sandbox's runtime directory cannot be removed", Next: "run: sandboxfs gc", Err: err}
	}
	return nil
}

// Collect removes what crashed sandboxes and killed mounts of this host user
// left. What cannot be removed keeps nobody from removing the rest.
func (p *Provider) Collect(ctx context.Context) ([]provider.Removed, error) {
	dirs, err := p.run.List()
	if err != nil {
		return nil, unavailable("the runtime directory cannot be read", "", err)
	}
	var removed []provider.Removed
	var errs []error
	for _, dir := range dirs {
		if dir.Keeper() != 0 {
			continue
		}
		st, _ := dir.ReadState()
		lock, err := dir.TryLock()
		if err != nil || lock == nil {
			continue // being made
		}
		lock.Unlock()
		if err := p.bury(ctx, dir); err != nil {
			errs = append(errs, err)
			continue
		}
		// A sandbox that was never ready has no id.
		removed = append(removed, provider.RemovedOf(mapping.Key{User: st.User, Thread: st.Thread}, "runtime state", st.ID))
	}
	mounts, err := mounter.Collect(p.run)
	removed = append(removed, mounts...)
	if err != nil {
		errs = append(errs, mountError("gc", "", err))
	}
	threads, err := p.collectThreads(ctx)
	removed = append(removed, threads...)
	if err != nil {
		errs = append(errs, err)
	}
	counts, err := quota.Collect(p.run) // after the mounts and threads, which may have held them
	for range counts {
		removed = append(removed, provider.Removed{What: "quota count"})
	}
	if err != nil {
		errs = append(errs, &provider.Error{Kind: provider.Unavailable, Op: "gc", Reason: "the count of a quota cannot be removed", Next: "try again", Err: err})
	}
	// Groups whose sandbox is in no runtime directory any more.
	groups, err := cgroup.Abandoned(abandonedAfter)
	if err != nil {
		return removed, errors.Join(errs...) // no cgroups here
	}
	for _, name := range groups {
		if !strings.HasPrefix(name, "sb-") {
			continue
		}
		// A process that it does hold lives in a pid namespace that is not
		// ours: then it is somebody's sandbox.
		gone, err := cgroup.RemoveEmpty(name)
		if err != nil {
			errs = append(errs, &provider.Error{Kind: provider.Unavailable, Op: "gc", Reason: "an abandoned cgroup cannot be removed", Next: "try again", Err: err})
		}
		if gone {
			removed = append(removed, provider.Removed{What: "cgroup", Name: name})
		}
	}
	return removed, errors.Join(errs...)
}
