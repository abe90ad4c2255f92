package local

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// How long a maker that finds no place waits: for sandboxes that somebody else
// is just ending, and then for other makers to give up.
const (
	roomPatience = 3 * time.Second
	makersCount  = time.Second
	pollRoom     = 20 * time.Millisecond
)

// makeRoom ends the sandboxes that have been idle longest while there are more
// than allowed. Each maker looks only after it has its own lock, so that it
// sees the others. Where makers alone are too many, those with the first names
// go on.
func (p *Provider) makeRoom(ctx context.Context, own *rundir.Dir) error {
	limit := p.cfg.Local.MaxSandboxes
	begun := time.Now()
	for {
		dirs, err := p.run.List()
		if err != nil || len(dirs) <= limit {
			return err
		}
		waited := time.Since(begun)
		live, idle := p.census(ctx, dirs, own, waited < makersCount)
		ended := 0
		for _, c := range idle {
			if live-ended > limit && p.stop(ctx, c, guest.StopIfIdle) == nil {
				ended++
			}
			c.close()
		}
		switch {
		case live-ended <= limit:
			return nil
		case waited > roomPatience:
			return &provider.Error{Kind: provider.Unavailable,
				Reason: fmt.Sprintf("as many sandboxes as are allowed, %d, are live and busy", limit), Next: "stop one (sandboxfs ps, sandboxfs stop THREAD)"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollRoom):
		}
	}
}

// census counts the sandboxes that live and are being made, own among them, and
// returns the idle ones, longest first, which the caller closes. Of the makers
// either all count or those whose names come first.
func (p *Provider) census(ctx context.Context, dirs []*rundir.Dir, own *rundir.Dir, allMakers bool) (live int, idle []*Sandbox) {
	live = 1
	since := map[*Sandbox]float64{}
	for _, dir := range dirs {
		if dir.Name() == own.Name() {
			continue
		}
		if dir.Keeper() == 0 {
			if dir.Locked() && (allMakers || dir.Name() < own.Name()) {
				live++ // being made
			}
			continue
		}
		live++
		st, err := dir.ReadState()
		if err != nil {
			continue
		}
		info := p.describe(ctx, dir, st)
		if info.State == "idle" && st.Home == p.home {
			s := anySandbox(p, st.ID, mapping.Key{User: st.User, Thread: st.Thread})
			idle, since[s] = append(idle, s), info.IdleSeconds
		}
	}
	sort.Slice(idle, func(i, j int) bool { return since[idle[i]] > since[idle[j]] })
	return live, idle
}
