package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// addV2 makes the group in the version 2 tree at the first place that can
// limit tasks or memory. The error says why the last place did not.
func (g *Group) addV2(mounts []mount, self string, l Limits) error {
	m, ok := v2Mount(mounts)
	if !ok {
		return errors.New("no cgroup tree is mounted")
	}
	why := errors.New("no place in the tree may be written to")
	for _, p := range v2Places(m, self, os.Geteuid()) {
		d, err := openV2(m, p, self, controllers[:])
		if err == nil && !d.has("pids") && !d.has("memory") {
			d.root.Close()
			err = errors.New("neither the pids nor the memory controller is handed down")
		}
		if err != nil {
			why = err
			continue
		}
		var settings []setting
		for _, c := range d.controllers {
			settings = append(settings, v2Settings(c, l)...)
		}
		if err := g.make(d, settings); err != nil {
			d.root.Close()
			why = err
			continue
		}
		return nil
	}
	return why
}

// openV2 opens the directory called sandboxfs below one place, making it where
// it is missing, and has the wanted controllers handed down to what is made in
// it. Some or all of them may be refused.
func openV2(m mount, place, self string, want []string) (dir, error) {
	mnt, err := os.OpenRoot(m.point)
	if err != nil {
		return dir{}, bare(err)
	}
	defer mnt.Close()
	top, err := mnt.OpenRoot(place)
	if err != nil {
		return dir{}, bare(err)
	}
	defer top.Close()
	// Putting a child elsewhere needs the right to write to cgroup.procs of
	// the group above both; asked here, since the clone itself says only "no".
	if err := mayMove(mnt, place, strings.TrimPrefix(self, strings.TrimSuffix(m.root, "/"))); err != nil {
		return dir{}, err
	}
	if err := top.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return dir{}, bare(err)
	}
	root, err := top.OpenRoot(parent)
	if err != nil {
		return dir{}, bare(err)
	}
	got := delegate(root, delegate(top, want))
	return dir{root: root, version: 2, controllers: got}, nil
}

// delegate switches controllers on for the children of a group, one by one
// since a refusal covers the whole write, and returns those that are on.
func delegate(root *os.Root, want []string) []string {
	const file = "cgroup.subtree_control"
	on, _ := read(root, file)
	for _, c := range want {
		if !slices.Contains(strings.Fields(on), c) {
			_ = write(root, file, "+"+c) // refused: not in the list below
		}
	}
	on, _ = read(root, file)
	var got []string
	for _, c := range want {
		if slices.Contains(strings.Fields(on), c) {
			got = append(got, c)
		}
	}
	return got
}

// mayMove reports whether a process of ours can be placed below place while
// we are in self, both relative to the mount point.
func mayMove(mnt *os.Root, place, self string) error {
	a, b := strings.Split(strings.Trim(place, "./"), "/"), strings.Split(strings.Trim(self, "/"), "/")
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] && a[n] != "" {
		n++
	}
	common := strings.Join(append(a[:n:n], "cgroup.procs"), "/")
	f, err := mnt.OpenFile(common, os.O_WRONLY, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && os.Geteuid() == 0 {
			return nil
		}
		return fmt.Errorf("a process may not be moved out of our own group: %w", bare(err))
	}
	f.Close()
	return nil
}
