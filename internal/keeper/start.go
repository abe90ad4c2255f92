package keeper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/detached"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Spec is all that a keeper needs to know. It travels as JSON on its
// standard input.
type Spec struct {
	// RuntimeDir and Name find the sandbox's runtime directory, which the
	// caller has made and locked.
	RuntimeDir string `json:"runtime_dir"`
	Name       string `json:"name"`
	// ID is the sandbox's.
	ID string `json:"id"`
	// Source says which directories it shows.
	regions.Source
	// Tier, Net and Ownership are as in provider.LocalConfig, resolved.
	Tier      string `json:"tier"`
	Net       string `json:"net"`
	Ownership string `json:"ownership"`
	// Quota bounds what the thread may hold.
	Quota provider.QuotaConfig `json:"quota"`
	// IdleSeconds ends the idle sandbox; 0 means never.
	IdleSeconds int `json:"idle_seconds"`
}

// Start starts a keeper and returns when its sandbox is ready. daemon is the
// path of sandboxfsd; lock is the sandbox's, and stays the caller's: the keeper
// holds it too while it begins, so that nobody else makes the same sandbox even
// if the maker is killed. The keeper outlives the caller and its session. Where
// the sandbox cannot be made nothing of it is left, and the error, an
// [*provider.Error], says which call failed and what to do. Kinds: denied,
// unavailable, timeout, internal.
func Start(ctx context.Context, daemon string, dir *rundir.Dir, lock *rundir.Lock, spec Spec) error {
	log, err := dir.Log()
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = detached.Start(ctx, detached.Process{
		Program: daemon, Verb: "keep", Spec: spec, Log: log, Lock: lock.File(), What: "the sandbox's keeper",
	})
	var e *provider.Error
	if errors.Is(err, detached.ErrEnded) && errors.As(err, &e) {
		e.Reason += logHint(dir)
	}
	return err
}

func logHint(dir *rundir.Dir) string {
	lines := strings.Split(strings.TrimSpace(dir.ReadLog()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Sprintf(" (its log ends: %s)", last)
	}
	return ""
}
