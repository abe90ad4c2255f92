package cgroup

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Abandoned returns the names of this user's groups (root's: of all) that hold
// no process in any tree and were made, or lost their last group below, longer ago than age. A sandbox
// that is being made has an empty group for a moment, so age must be longer
// than that takes.
func Abandoned(age time.Duration) ([]string, error) {
	ds, err := parents()
	if err != nil {
		return nil, err
	}
	young := time.Now().Add(-age)
	empty := map[string]bool{}
	for _, d := range ds {
		entries, _ := fs.ReadDir(d.root.FS(), ".")
		for _, e := range entries {
			if !e.IsDir() || !ValidName(e.Name()) {
				continue
			}
			info, statErr := e.Info()
			if statErr == nil && !mine(info) {
				continue // visible, and not to be removed by us
			}
			procs, err := read(d.root, e.Name()+"/cgroup.procs")
			was, seen := empty[e.Name()]
			empty[e.Name()] = err == nil && statErr == nil && strings.TrimSpace(procs) == "" &&
				info.ModTime().Before(young) && (!seen || was)
		}
		d.root.Close()
	}
	var names []string
	for name, is := range empty {
		if is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || st.Uid == uint32(os.Geteuid())
}
