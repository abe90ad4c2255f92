package doctor

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// DefaultDeadline is how long one check may take.
const DefaultDeadline = 5 * time.Second

// Options say what to look at.
type Options struct {
	// Config is the configuration that sandboxes are made with.
	Config provider.Config
	// Thread, where it has one, is the thread whose running sandbox is
	// described. One that does not run is stood in for by a sandbox of no
	// thread, made by the same configuration and ended again.
	Thread mapping.Key
	// Version is the calling program's.
	Version string
	// Deadline bounds each check, and the last one, which starts a sandbox,
	// by four times as much; 0 means DefaultDeadline.
	Deadline time.Duration
}

// Run makes all checks one after the other, hands each finding on as it is
// made, and returns the worst status. The last check starts a sandbox, unless
// one before it says that this would hang. The calling program must begin with
// [IsChild]. An error is one of the configuration, or the context's; kinds:
// invalid, denied. Safe for concurrent use.
func Run(ctx context.Context, o Options, each func(Finding)) (Status, error) {
	cfg, err := o.Config.Resolve(provider.ProcessEnvironment())
	if err != nil {
		return Fail, err
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	m := machine{Home: cfg.Home, RuntimeDir: cfg.RuntimeDir, Version: o.Version, UID: os.Geteuid()}
	worst, hangs := OK, ""
	list := checks()
	for next := 0; next < len(list); {
		c := startChild(ctx, m, next)
		for next < len(list) {
			name := list[next].name
			f, err := c.next(ctx, o.Deadline)
			if ctx.Err() != nil {
				c.end()
				return worst, context.Cause(ctx)
			}
			if err != nil {
				f = fail(err.Error(), "it is not known what works", "")
				if name == "data-directory" || name == "runtime-directory" {
					hangs = name
				}
			}
			f.Check = name
			worst = worse(worst, f.Status)
			each(f)
			next++
			if err != nil {
				break
			}
		}
		c.end()
	}
	last := fail(fmt.Sprintf("not tried, since the check %s did not end", hangs), noSandbox, "")
	if hangs == "" {
		last = checkSandbox(ctx, o, cfg)
	}
	if ctx.Err() != nil {
		return worst, context.Cause(ctx)
	}
	last.Check = "sandbox"
	each(last)
	return worse(worst, last.Status), nil
}
