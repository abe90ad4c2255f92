package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
)

// abandonedAfter is older than any group of a sandbox that is being made.
const abandonedAfter = time.Minute

func checkLeftovers(m *machine) Finding {
	dead, live := 0, 0
	if _, found := existing(m.RuntimeDir); found { // opening it would make it
		root, err := rundir.Open(m.RuntimeDir)
		if err != nil {
			return fail(err.Error(), noSandbox, "set SANDBOXFS_RUNTIME_DIR to a directory of your own with mode 0700")
		}
		defer root.Close()
		dirs, err := root.List()
		if err != nil {
			return warn("the runtime directory cannot be read: "+err.Error(), "what crashed sandboxes left is not found", "")
		}
		for _, d := range dirs {
			switch {
			case d.Keeper() != 0:
				live++
			case !d.Locked():
				dead++
			}
		}
	}
	groups := 0
	if names, err := cgroup.Abandoned(abandonedAfter); err == nil {
		for _, n := range names {
			if strings.HasPrefix(n, "sb-") {
				groups++
			}
		}
	}
	if dead+groups > 0 {
		return warn(fmt.Sprintf("%d crashed sandboxes and %d control groups without one", dead, groups), "a little memory and disk space", "sandboxfs gc")
	}
	return ok(fmt.Sprintf("none; %d sandboxes live", live))
}
