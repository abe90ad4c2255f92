package doctor

import (
	"context"
	"errors"
	osexec "os/exec"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/local"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

const programDeadline = 2 * time.Second

func checkDaemon(m *machine) Finding {
	path, err := local.FindDaemon()
	if err != nil {
		var e *provider.Error
		if errors.As(err, &e) {
			return fail(e.Reason, noSandbox, e.Next)
		}
		return fail(err.Error(), noSandbox, "")
	}
	ctx, cancel := context.WithTimeout(context.Background(), programDeadline)
	defer cancel()
	cmd := osexec.CommandContext(ctx, path, "version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return fail(path+" does not run: "+err.Error(), noSandbox, "install it anew: make install")
	}
	its := strings.TrimPrefix(strings.TrimSpace(string(out)), "sandboxfsd ")
	if its != m.Version {
		return warn(path+" is of version "+its+", this program of "+m.Version, "what the two do not agree about",
			"install both from one build ('make install'), or set SANDBOXFSD to the right one")
	}
	return ok(path + ", version " + its)
}

// guestBash is where a sandbox finds it: of the host's programs it shows /usr.
const guestBash = "/usr/bin/bash"

func checkBash(*machine) Finding {
	if err := unix.Access(guestBash, unix.X_OK); err != nil {
		return warn(guestBash+": "+err.Error(), "scripts run in sh, and there are no sessions that keep their state", "apt-get install bash")
	}
	return ok(guestBash)
}
