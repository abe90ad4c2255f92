package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// parents opens every directory called sandboxfs that this user's groups can
// be in. The caller closes them.
func parents() ([]dir, error) {
	mounts, self, err := system()
	if err != nil {
		return nil, fmt.Errorf("list cgroups: %w", bare(err))
	}
	var out []dir
	open := func(point string, version int) {
		// A place without our directory is the ordinary case.
		if root, err := os.OpenRoot(path.Join(point, parent)); err == nil {
			out = append(out, dir{root: root, version: version})
		}
	}
	for _, m := range mounts {
		if m.version == 1 {
			open(m.point, 1)
			continue
		}
		for _, p := range v2Places(m, self, os.Geteuid()) {
			open(path.Join(m.point, p), 2)
		}
	}
	return out, nil
}

// Leftovers returns the names of all groups of this program, sorted: those of
// live sandboxes and those whose maker was killed. Which is which only the
// caller can tell, by the sandbox's lock.
func Leftovers() ([]string, error) {
	ds, err := parents()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range ds {
		entries, err := fs.ReadDir(d.root.FS(), ".")
		d.root.Close()
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && ValidName(e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Remove ends what is left in the group of that name, in every tree, and
// removes it. A name that does not exist is no error. The caller holds the
// sandbox's lock.
func Remove(ctx context.Context, name string) error {
	if !ValidName(name) {
		return fmt.Errorf("remove cgroup: %q is not a name of 1 to 64 letters, digits, '_' and '-'", name)
	}
	ds, err := parents()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range ds {
		errs = append(errs, d.remove(ctx, name))
		d.root.Close()
	}
	return errors.Join(errs...)
}
