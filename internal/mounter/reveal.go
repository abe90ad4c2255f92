package mounter

import (
	"fmt"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Reveals looks for what a directory of the host would show besides its own
// files: one of the directories own, or a part of one, by way of a bind mount;
// or a mount of a thread's tree. All paths are real ones. It returns the place
// where that is seen, or "".
func Reveals(dir string, own ...string) (string, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return "", err
	}
	return reveals(table, dir, own), nil
}

func reveals(t mountinfo.Table, dir string, own []string) string {
	overlaps := func(p string) bool {
		for _, o := range own {
			if t.Inside(p, o) || t.Inside(o, p) {
				return true
			}
		}
		return false
	}
	if m, ok := t.Containing(dir); ok && isTree(m) || overlaps(dir) {
		return dir
	}
	for _, m := range t.Below(dir) {
		if isTree(m) || overlaps(m.Point) {
			return m.Point
		}
	}
	return ""
}

// checkLive refuses a place that a live sandbox shows by a mount of its own: it
// would see the thread's tree from then on.
func checkLive(run *rundir.Root, point string, table mountinfo.Table) error {
	dirs, err := run.List()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if dir.Keeper() == 0 {
			continue
		}
		state, err := dir.ReadState()
		if err != nil {
			continue // it shows nothing yet, and looks itself before it does
		}
		for _, m := range state.Mounts {
			if table.Inside(point, m.HostPath) {
				return &provider.Error{Kind: provider.Invalid,
					Reason: fmt.Sprintf("%s lies in a directory that the live sandbox of the thread %s shows", point, state.Thread),
					Next:   "choose a directory elsewhere, or stop that sandbox first"}
			}
		}
	}
	return nil
}
