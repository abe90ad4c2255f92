package shell

import (
	"time"

	"golang.org/x/sys/unix"
)

// pollEnd is how often ending processes are looked at.
const pollEnd = 10 * time.Millisecond

// freezeRounds bounds how often a tree is listed until nothing new is in it.
const freezeRounds = 50

// endTrees ends processes with all their descendants: SIGTERM, and after the
// grace SIGKILL for what is left. It returns when they are gone, or when the
// kernel does not let them go.
func endTrees(roots []*proc, grace time.Duration) {
	f := &family{roots: roots}
	f.terminate(grace, func() bool { return true })
	f.kill()
}

// terminate asks the members to end, and waits for that and for something else,
// but not longer than the grace.
func (f *family) terminate(grace time.Duration, and func() bool) {
	f.find()
	for _, p := range f.alive {
		p.send(unix.SIGTERM)
		p.send(unix.SIGCONT)
	}
	for limit := time.Now().Add(grace); time.Now().Before(limit); time.Sleep(pollEnd) {
		if f.find(); len(f.alive) == 0 && and() {
			return
		}
	}
}

// family is a tree whose members are remembered, so that those whose parent has
// ended still belong to it.
type family struct {
	roots []*proc
	known map[int]*proc
	alive []*proc
}

// find looks for the members and reports whether there is a new one.
func (f *family) find() (fresh bool) {
	t, err := readTable()
	if err != nil {
		return false
	}
	if f.known == nil {
		f.known = map[int]*proc{}
		for _, r := range f.roots {
			f.known[r.pid] = r
		}
	}
	f.alive = f.alive[:0]
	var members []*proc
	for _, p := range f.known {
		if now := t.byPID[p.pid]; now != nil && now.same(p) {
			members = append(members, now)
		}
	}
	for _, m := range members {
		for _, p := range append(t.below(m.pid), m) {
			if old := f.known[p.pid]; old == nil || !old.same(p) {
				fresh = true
			}
			f.known[p.pid] = p
		}
	}
	for _, p := range f.known {
		if now := t.byPID[p.pid]; now != nil && now.same(p) && !now.dead() {
			f.alive = append(f.alive, now)
		}
	}
	return fresh
}

// kill stops the members until no new one appears, so that none escapes by
// forking, and then kills them.
func (f *family) kill() {
	for range freezeRounds {
		fresh := f.find()
		for _, p := range f.alive {
			p.send(unix.SIGSTOP)
		}
		if !fresh {
			break
		}
	}
	for limit := time.Now().Add(2 * time.Second); time.Now().Before(limit); time.Sleep(pollEnd) {
		f.find()
		if len(f.alive) == 0 {
			return
		}
		for _, p := range f.alive {
			p.send(unix.SIGKILL)
		}
	}
}
