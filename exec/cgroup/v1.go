package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
)

// addV1 makes the group in every version 1 tree that takes one. The error
// says why the last tree that did not take it refused.
func (g *Group) addV1(mounts []mount, l Limits) error {
	why := errors.New("no version 1 controller is mounted")
	for _, c := range controllers {
		m, ok := v1Mount(mounts, c)
		if !ok {
			continue
		}
		root, err := openParent(m.point)
		if err != nil {
			why = fmt.Errorf("controller %s: %w", c, bare(err))
			continue
		}
		err = g.make(dir{root: root, version: 1, controllers: []string{c}}, v1Settings(c, l))
		if err != nil {
			root.Close()
			why = fmt.Errorf("controller %s: %w", c, err)
		}
	}
	return why
}

// openParent opens the directory called sandboxfs at the top of a tree and
// makes it where it is missing.
func openParent(point string) (*os.Root, error) {
	top, err := os.OpenRoot(point)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	if err := top.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return top.OpenRoot(parent)
}

// ownTasks opens, for each version 1 tree of the group, the tasks file of the
// group that the calling thread is in, so that it can go back there.
func (g *Group) ownTasks() (_ []*os.File, err error) {
	files := make([]*os.File, len(g.dirs))
	if g.dirs[0].version == 2 {
		return files, nil // never both
	}
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close() // of none says so and does nothing
			}
		}
	}()
	text, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		return nil, err
	}
	table, err := mountinfo.Read()
	if err != nil {
		return nil, err
	}
	mounts := treesIn(table)
	for i, d := range g.dirs {
		controller := d.controllers[0]
		m, ok := v1Mount(mounts, controller)
		if !ok {
			return nil, fs.ErrNotExist
		}
		if files[i], err = openTasks(m, parseV1Self(string(text), controller)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// openTasks opens the tasks file of a group as /proc names it.
func openTasks(m mount, own string) (*os.File, error) {
	rel, ok := strings.CutPrefix(own, strings.TrimSuffix(m.root, "/"))
	if !ok {
		rel = "/"
	}
	root, err := os.OpenRoot(m.point)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(path.Join(".", rel, "tasks"), os.O_WRONLY, 0)
}

// parseV1Self returns the group of a controller in the text of a
// /proc/PID/cgroup file.
func parseV1Self(text, controller string) string {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			if c == controller {
				return f[2]
			}
		}
	}
	return "/"
}
