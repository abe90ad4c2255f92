package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Abandoned returns the names of this user's groups (root's: of all) in which
// no process can be seen, in any tree, and that were made, or lost their last
// group below, longer ago than age. A sandbox that is being made has an empty
// group for a moment, so age must be longer than that takes. Processes of
// another pid namespace cannot be seen in a version 1 group: [RemoveEmpty] asks
// the kernel.
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

// RemoveEmpty removes a group that holds no process, in every tree, and says
// whether it did. It ends nothing and waits for nothing.
func RemoveEmpty(name string) (bool, error) {
	if !ValidName(name) {
		return false, fmt.Errorf("remove cgroup: %q is not a name of 1 to 64 letters, digits, '_' and '-'", name)
	}
	ds, err := parents()
	if err != nil {
		return false, err
	}
	defer func() {
		for _, d := range ds {
			d.root.Close()
		}
	}()
	removed := false
	for _, d := range ds {
		err := d.root.Remove(name)
		switch {
		case err == nil:
			removed = true
		case errors.Is(err, unix.EBUSY):
			return removed, nil // it holds a process, and so it does in the other trees
		case !errors.Is(err, fs.ErrNotExist):
			return removed, fmt.Errorf("remove cgroup: %w", bare(err))
		}
	}
	return removed, nil
}
