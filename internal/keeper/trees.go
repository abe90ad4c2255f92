package keeper

import (
	"errors"
	"os"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/fs"
)

// trees are the two forms in which the same directories are served. The second
// is for the read-only regions: on a mount whose superblock is read-only the
// kernel opens files and directories without asking.
type trees struct{ first, second *fs.Tree }

// newTrees makes them; the second only where there are read-only regions.
func newTrees(o fs.Options, readOnly []string) (t trees, err error) {
	if len(readOnly) == 0 {
		t.first, err = fs.New(o)
		return t, err
	}
	o.MaxDescriptors = fs.DescriptorBudget(2)
	if t.first, err = fs.New(o); err != nil {
		return t, err
	}
	o.Opens = fs.OpensUnasked
	if t.second, err = fs.New(o); err != nil {
		return trees{}, errors.Join(err, t.first.Close())
	}
	return t, nil
}

// close frees what was never served.
func (t trees) close() {
	for _, tree := range []*fs.Tree{t.first, t.second} {
		if tree != nil {
			tree.Close()
		}
	}
}

// serve lets the jail have the trees served when it has mounted them.
func (k *keeper) serve(t trees, world *jail.Spec) {
	world.Serve = func(fuse *os.File) (err error) {
		k.server, err = t.first.Serve(fuse)
		return err
	}
	if t.second == nil {
		return
	}
	world.ServeReadOnly = func(fuse *os.File) (err error) {
		k.second, err = t.second.Serve(fuse)
		return err
	}
}

// passthrough says where reads and writes bypass the keeper.
func (k *keeper) passthrough() string {
	switch {
	case !k.server.Passthrough():
		return "none: needs Linux 6.9 and root"
	case k.ledger == nil:
		return "offered by the kernel"
	case k.second == nil:
		return "read-only regions only: the quota counts the others"
	}
	return "none: the quota counts what is written"
}
