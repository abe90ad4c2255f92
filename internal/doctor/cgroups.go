package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	osexec "os/exec"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

const (
	lostGroup      = "bounds on memory and processes hold for each process or user, not for the sandbox as a whole"
	cureGroup      = "run as root; or with cgroup v2 as an ordinary user below 'systemd-run --user --scope -p Delegate=yes'"
	groupsDeadline = 2 * time.Second
)

// checkCgroups makes a group as a sandbox has it, and starts a process in it.
func checkCgroups(*machine) Finding {
	var b [8]byte
	rand.Read(b[:])
	// By this name gc removes it, should we be killed before we do.
	g, err := cgroup.Create("sb-doctor-"+hex.EncodeToString(b[:]), cgroup.Limits{Pids: 256, Memory: 256 << 20})
	if errors.Is(err, cgroup.ErrUnavailable) {
		return warn(err.Error(), lostGroup, cureGroup)
	}
	if err != nil {
		return warn("a group cannot be made: "+err.Error(), lostGroup, cureGroup)
	}
	attr := &syscall.SysProcAttr{}
	a := ask("start a process in a group", attr, func(cmd *osexec.Cmd) error {
		return g.Start(attr, cmd.Start)
	}, probeNothing)
	detail, memory, pids := g.String(), g.Has("memory"), g.Has("pids")
	ctx, cancel := context.WithTimeout(context.Background(), groupsDeadline)
	defer cancel()
	err = g.Remove(ctx)
	switch {
	case !a.ok():
		return warn(a.Op+": "+a.err().Error(), lostGroup, cureGroup)
	case err != nil:
		return warn(detail+", but a group cannot be removed: "+err.Error(), "groups pile up", "sandboxfs gc")
	case !memory || !pids:
		return warn(detail+"; the memory and the pids controller are not both handed down", lostGroup,
			"for systemd: 'systemctl edit user@.service', there '[Service]' and 'Delegate=memory pids cpu'")
	}
	return ok(detail)
}
