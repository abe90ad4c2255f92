// Runs in the process that serves the mount. Nothing here may open or examine
// a path below it.

package mounter

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/detached"
	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/quota"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// Main is the verb `sandboxfsd mount`. It returns the exit status.
func Main() int {
	log := logrus.New()
	var spec Spec
	begun, err := detached.Begin(&spec)
	s := &server{log: log.WithField("thread", spec.Key.String())}
	if err == nil {
		jail.ShedLimits() // whoever asked does not decide how many files can be open
		fs.ClearUmask()
		runtime.GOMAXPROCS(fs.Processors)
		err = s.start(spec, begun.Lock())
	}
	if err != nil {
		s.log.WithError(err).Error("the tree could not be mounted")
		s.abandon()
		begun.Fail(err)
		return 1
	}
	signals := listen() // before the word by which others know whom to ask
	if err := begun.Ready(); err != nil {
		// He never learnt of the mount, so he would never unmount it.
		s.log.WithError(err).Warn("whoever asked for the mount is gone")
		s.abandon()
		s.release()
		return 1
	}
	debug.FreeOSMemory() // the start's garbage, which an idle server would hold for good
	s.wait(signals)
	s.abandon()
	s.release()
	return 0
}

// server is a mount that is being served.
type server struct {
	log    logrus.FieldLogger
	dir    *rundir.Dir
	alive  *os.File
	record Record
	server *fs.Server
	ledger *quota.Ledger // nil where nothing is bounded
	// attached says that the mount was put at its place.
	attached bool
	// over says that the connection has ended: nothing is served any more.
	over bool
}

func (s *server) start(spec Spec, lock *os.File) error {
	root, err := rundir.Open(spec.RuntimeDir)
	if err != nil {
		return err
	}
	if s.dir, err = root.Named(spec.Name); err != nil {
		return err
	}
	if s.alive, err = s.dir.HoldAlive(); err != nil {
		return &provider.Error{Kind: provider.Conflict, Reason: "another server of this mount lives", Err: err}
	}
	namespace, err := namespace()
	if err != nil {
		return err
	}
	tree, err := s.newTree(root, spec)
	if err != nil {
		return err
	}
	key := spec.Key.Normalize()
	s.record = Record{
		User: key.User, Thread: key.Thread, Provider: "local", Home: spec.Home, Namespace: namespace, Point: spec.Point,
		View: spec.View, Ownership: spec.Ownership, Audience: spec.Audience, Created: time.Now().Format(time.RFC3339),
	}
	// Before there is a mount: whatever happens from here on, it is found.
	if err := s.dir.WriteRecord(s.record); err != nil {
		tree.Close()
		return err
	}
	if err := s.attach(spec, tree, lock); err != nil {
		tree.Close()
		return err
	}
	table, err := mountinfo.Read()
	if err != nil {
		return err
	}
	m, ok := table.At(spec.Point)
	if !ok || !isTree(m) {
		return fmt.Errorf("the mount is not in the mount table")
	}
	s.record.Device, s.record.MountID = m.Device, m.ID
	return s.dir.WriteRecord(s.record)
}

// newTree opens the thread's directories and, where there is a quota, its
// ledger, in which its sandbox counts too.
func (s *server) newTree(run *rundir.Root, spec Spec) (*fs.Tree, error) {
	table, err := spec.Table()
	if err != nil {
		return nil, err
	}
	roots, err := spec.Open(table)
	if err != nil {
		return nil, err
	}
	defer regions.Close(roots) // the tree has its own
	o := fs.Options{Table: table, Roots: roots, UID: spec.UID, GID: spec.GID, Log: s.log}
	if spec.View == provider.ViewOperator {
		o.View = mapping.OperatorView
	}
	if spec.Ownership == provider.OwnershipPreserve {
		o.Ownership = fs.Preserve
	}
	ctx, cancel := context.WithTimeout(context.Background(), ledgerTimeout)
	defer cancel()
	if s.ledger, err = quota.ForThread(ctx, run, spec.Source, spec.Quota); err != nil {
		return nil, err
	}
	if s.ledger != nil {
		o.Quota, o.Charged = s.ledger, quota.Regions(table)
	}
	return fs.New(o)
}

// ledgerTimeout bounds the count of what the thread holds, where nobody has
// counted it yet.
const ledgerTimeout = 30 * time.Second

// abandon takes the mount out of sight, where it still is in sight, and ends
// the connection. It also serves a start that failed halfway.
func (s *server) abandon() {
	if s.attached {
		s.hide()
	}
	if s.server != nil {
		if err := s.server.Close(); err != nil {
			s.log.WithError(err).Warn("the tree did not end in order")
			return // a request may still count
		}
	}
	s.ledger.Close()
}

// hide detaches the mount, and no other: where the connection is over, a mount
// with the same numbers is somebody else's unless it is dead.
func (s *server) hide() {
	table, err := mountinfo.Read()
	if err != nil {
		s.log.WithError(err).Warn("the mount is left, dead; sandboxfs gc removes it")
		return
	}
	m, ok := s.record.find(table)
	if top, _ := table.At(m.Point); !ok || top != m || s.over && !isDead(m.Point) {
		return
	}
	if err := detach(m.Point, provider.UnmountLazy); err != nil {
		s.log.WithError(err).Warn("the mount is left, dead; sandboxfs gc removes it")
	}
}

// release gives the mount's directory back, for another mount at the same
// place. Whoever holds its lock removes it himself.
func (s *server) release() {
	if s.alive == nil {
		return
	}
	var lock *rundir.Lock
	if s.dir.Holds(s.alive) {
		var err error
		if lock, err = s.dir.TryLock(); err != nil {
			s.log.WithError(err).Warn("the runtime directory is left; sandboxfs gc removes it")
		}
	}
	s.alive.Close()
	s.alive = nil
	if lock != nil {
		if err := lock.Remove(); err != nil {
			s.log.WithError(err).Warn("the runtime directory is left; sandboxfs gc removes it")
		}
	}
}

// namespace names this process's mount namespace.
func namespace() (string, error) { return os.Readlink("/proc/self/ns/mnt") }

// lookSignal asks a server to look at once whether its mount is still in sight.
const lookSignal = unix.SIGUSR1
