package keeper

import (
	"errors"

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
	o.Quota, o.Charged, o.Opens = nil, nil, fs.OpensUnasked
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
