package keeper

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/detached"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// startTimeout bounds the making of a sandbox, which takes milliseconds.
const startTimeout = 30 * time.Second

// quietAfter is when a sandbox's first command has most likely been started.
const quietAfter = time.Second

// Main is the verb `sandboxfsd keep`. It returns the exit status.
func Main() int {
	var spec Spec
	begun, err := detached.Begin(&spec)
	runtime.GOMAXPROCS(fs.Processors)
	jail.ShedLimits() // whoever was first does not decide for all
	unix.Umask(0)     // the kernel has applied the caller's umask to what FUSE asks for
	log := logrus.New()
	log.SetLevel(logrus.InfoLevel)
	var k *keeper
	if err == nil {
		k, err = start(spec, log)
	}
	if err != nil {
		log.WithError(err).Error("the sandbox could not be made")
		begun.Fail(told(err))
		return 1
	}
	// Whoever looks from now on finds a keeper that is ready, to be ended too.
	signals := listen()
	if err := begun.Ready(); err != nil {
		log.WithError(err).Warn("whoever asked for the sandbox is gone")
	}
	// The start's garbage, which an idle keeper would hold for good; not now,
	// when the first command wants the processor.
	free := time.AfterFunc(quietAfter, debug.FreeOSMemory)
	k.wait(signals)
	free.Stop()
	k.close()
	return 0
}

// keeper is a made sandbox.
type keeper struct {
	log    logrus.FieldLogger
	dir    *rundir.Dir
	alive  *os.File
	group  string // the name of the cgroup
	uid    *os.File
	roots  map[string]*os.File
	server *fs.Server
	// second serves the read-only regions, nil where there are none or where
	// it cannot be had.
	second *fs.Server
	run    *rundir.Root
	ledger *quota.Ledger
	jail   *jail.Jail
}

func start(spec Spec, log logrus.FieldLogger) (_ *keeper, err error) {
	root, err := rundir.Open(spec.RuntimeDir)
	if err != nil {
		return nil, err
	}
	dir, err := root.Named(spec.Name)
	if err != nil {
		return nil, err
	}
	k := &keeper{log: log.WithField("thread", spec.Key.String()), run: root, dir: dir}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	if k.alive, err = dir.HoldAlive(); err != nil {
		return nil, &provider.Error{Kind: provider.Conflict, Reason: "another keeper of this sandbox lives", Err: err}
	}
	if before, err := dir.ReadState(); err == nil && before.Cgroup != "" {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		if err := cgroup.Remove(ctx, before.Cgroup); err != nil {
			k.log.WithError(err).Warn("the cgroup of a keeper that was killed is left; sandboxfs gc removes it")
		}
	}
	table, err := spec.Table()
	if err != nil {
		return nil, err
	}
	if k.roots, err = spec.Open(table); err != nil {
		return nil, err
	}
	world, err := k.world(spec, table)
	if err != nil {
		return nil, err
	}
	k.group = world.Name
	return k, k.enter(spec, table, world)
}

// bound gives the tree the thread's quota, if there is one.
func (k *keeper) bound(spec Spec, table *mapping.Table, o *fs.Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if k.ledger, err = quota.ForThread(ctx, k.run, spec.Source, spec.Quota); err != nil || k.ledger == nil {
		return err
	}
	o.Quota, o.Charged = k.ledger, quota.Regions(table)
	return nil
}

// enter serves the tree and starts the sandbox's pid 1.
func (k *keeper) enter(spec Spec, table *mapping.Table, world jail.Spec) error {
	ownership := fs.Owner
	if spec.Ownership == "preserve" {
		ownership = fs.Preserve
	}
	uid, gid := jail.TreeOwner(world)
	options := fs.Options{
		Table: table, Roots: k.roots, View: mapping.AgentView, Ownership: ownership,
		UID: uid, GID: gid, Log: k.log,
	}
	if err := k.bound(spec, table, &options); err != nil {
		return err
	}
	served, err := newTrees(options, world.ReadOnly)
	regions.Close(k.roots) // the trees have their own
	if err != nil {
		return err
	}
	defer served.close()
	state := rundir.State{
		ID: spec.ID, User: spec.Key.Normalize().User, Thread: spec.Key.Thread, Provider: "local", Home: spec.Home,
		Tier: spec.Tier, Net: spec.Net, SkillsDir: spec.SkillsDir, Mounts: spec.Mounts, Ownership: spec.Ownership, Quota: spec.Quota,
		Cgroup: world.Name, Created: time.Now().Format(time.RFC3339),
	}
	// Before there is a socket: whoever is connected can read what to.
	if err := k.dir.WriteState(state); err != nil {
		return err
	}
	listener, err := k.dir.Listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	info := provider.Info{
		ID: state.ID, User: state.User, Thread: state.Thread, Provider: state.Provider, Created: state.Created,
	}
	extra, err := json.Marshal(GuestSpec{Identity: info, IdleSeconds: spec.IdleSeconds})
	if err != nil {
		return err
	}
	world.Listener, world.Extra, world.Log = listener, extra, os.Stderr
	k.serve(served, &world)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if k.jail, err = jail.Start(ctx, world); err != nil {
		return err
	}
	state.Isolation = k.jail.Isolation()
	state.Isolation["passthrough"] = k.passthrough()
	if k.second == nil && len(world.ReadOnly) > 0 {
		k.log.WithField("read_only", state.Isolation["read_only"]).Warn("the read-only regions have no connection of their own: they are slower, not weaker")
	}
	return k.dir.WriteState(state)
}
