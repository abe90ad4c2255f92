package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// idle is the private memory, in bytes, of one idle sandbox.
type idle struct {
	keeper, guest int64
	// slots are the processes that wait to run a command, and their memory.
	slots     int
	slotBytes int64
}

func (m idle) total() int64 { return m.keeper + m.guest + m.slotBytes }

// settle is how long a sandbox is left alone before it counts as idle.
const settle = 3 * time.Second

// idleMemory makes a sandbox, runs one command in it, leaves it alone and
// looks at its processes, found by their common UTS namespace.
func (b *bench) idleMemory(ctx context.Context) (m idle, err error) {
	key := mapping.Key{Thread: "memory"}
	s, err := b.acquire(ctx, key)
	if err != nil {
		return m, err
	}
	defer func() {
		if stopErr := b.provider.Stop(context.WithoutCancel(ctx), key); err == nil {
			err = stopErr
		}
	}()
	r, err := s.Execute(ctx, provider.Command{Argv: hostview.UTSCommand()})
	if err != nil {
		return m, err
	}
	select {
	case <-ctx.Done():
		return m, ctx.Err()
	case <-time.After(settle):
	}
	return memoryOf(strings.TrimSpace(string(r.Stdout.Head)))
}

func memoryOf(uts string) (m idle, err error) {
	all := hostview.InUTS(uts)
	guest, ok := hostview.Guest(all)
	if !ok {
		return m, fmt.Errorf("the sandbox's processes are not to be seen; run it as root")
	}
	if m.guest, err = hostview.Private(guest.PID); err != nil {
		return m, err
	}
	if m.keeper, err = hostview.Private(guest.Parent); err != nil {
		return m, err
	}
	for _, p := range all {
		if p.PID == guest.PID {
			continue
		}
		bytes, err := hostview.Private(p.PID)
		if err != nil {
			return m, err
		}
		m.slots++
		m.slotBytes += bytes
	}
	return m, nil
}
