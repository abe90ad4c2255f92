package keeper

import (
	"context"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
	"github.com/sandboxfs/sandboxfs/fs"
)

// groupTimeout is how long killed processes may take to leave the cgroup.
const groupTimeout = 10 * time.Second

// close ends what there is of the sandbox, in the order in which nothing can
// hang: processes, then the tree they used, then the names. It also serves a
// start that failed halfway.
func (k *keeper) close() {
	if k.jail != nil {
		k.jail.Kill()
	}
	served := error(nil)
	for _, s := range []*fs.Server{k.second, k.server} {
		if s == nil {
			continue
		}
		if err := s.Close(); err != nil {
			served = err
			k.log.WithError(err).Warn("the tree did not end in order")
		}
	}
	if served == nil { // else it is in use, and found dead when we end
		k.ledger.Close()
	}
	if k.jail != nil {
		k.jail.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	groupErr := error(nil)
	if k.group != "" {
		groupErr = cgroup.Remove(ctx, k.group)
	}
	if k.uid != nil {
		k.uid.Close()
	}
	if k.alive == nil {
		return // another keeper's directory
	}
	if groupErr != nil {
		// The record, which names it, stays for whoever cleans up.
		k.log.WithError(groupErr).Warn("the sandbox's cgroup is left; sandboxfs gc removes it")
		return
	}
	if !k.dir.Holds(k.alive) {
		return // what is there now is not ours
	}
	// Where somebody holds the lock he waits for us to make the sandbox
	// anew, or removes the directory himself.
	if lock, err := k.dir.TryLock(); err == nil && lock != nil {
		if err := lock.Remove(); err != nil {
			k.log.WithError(err).Warn("the runtime directory is left; sandboxfs gc removes it")
		}
	}
}
