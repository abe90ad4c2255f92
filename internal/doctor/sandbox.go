package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

const (
	// sandboxPatience is how many deadlines of another check this one has: it
	// starts processes, on a machine that may be busy.
	sandboxPatience = 4
	// cleanDeadline bounds the end of the sandbox, also where the check was
	// given up.
	cleanDeadline = 15 * time.Second
	// idleSeconds ends a sandbox whose doctor was killed.
	idleSeconds = 30
	// scratch begins the names of the data directories made for this check,
	// and scratchAge is when one of a doctor that was killed is removed.
	scratch    = ".doctor-"
	scratchAge = 10 * time.Minute
)

// checkSandbox describes the thread's running sandbox, or starts one for the
// purpose: by the same configuration, in a data directory of its own inside
// the real one, so that no thread is touched.
func checkSandbox(ctx context.Context, o Options, cfg provider.Config) Finding {
	ctx, cancel := context.WithTimeout(ctx, sandboxPatience*o.Deadline)
	defer cancel()
	undo, err := makeHome(cfg.Home)
	defer undo()
	if err != nil {
		return fail("the data directory cannot be made: "+cause(err).Error(), noSandbox, "set SANDBOXFS_HOME to a directory that you can write to")
	}
	about := ""
	if o.Thread.Thread != "" {
		info, err := living(ctx, cfg, o.Thread.Normalize())
		switch {
		case err != nil:
			return broken(err)
		case info != nil && (info.State == "running" || info.State == "idle"):
			f := ok(fmt.Sprintf("%s is %s since %s", info.ID, info.State, info.Created))
			f.Isolation = info.Isolation
			return f
		case info != nil:
			return fail(fmt.Sprintf("%s is %s", info.ID, info.State), "the thread's sandbox is of no use", "sandboxfs gc, or sandboxfs stop "+o.Thread.Thread)
		}
		about = "the thread has no sandbox; one as it would get "
	}
	f := throwAway(ctx, cfg)
	if f.Status == OK {
		f.Detail = about + f.Detail
	}
	return f
}

// living returns the thread's sandbox as the provider lists it, nil where there
// is none.
func living(ctx context.Context, cfg provider.Config, key mapping.Key) (*provider.Info, error) {
	p, err := provider.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer shutdown(ctx, p)
	lister, isLister := p.(provider.Lister)
	if !isLister {
		return nil, nil
	}
	infos, err := lister.List(ctx)
	for _, i := range infos {
		if i.User == key.User && i.Thread == key.Thread {
			return &i, nil
		}
	}
	return nil, err
}

func shutdown(ctx context.Context, p provider.Provider) {
	if s, is := p.(provider.Shutdowner); is {
		_ = s.Shutdown(ctx) // lets go of handles
	}
}

// throwAway starts a sandbox, tries it, and ends it.
func throwAway(ctx context.Context, cfg provider.Config) (f Finding) {
	real, err := hostpath.Open(cfg.Home)
	if err != nil {
		return fail("the data directory cannot be opened: "+cause(err).Error(), noSandbox, "set SANDBOXFS_HOME to a directory that you can write to")
	}
	defer real.Close()
	sweep(real)
	home, err := os.MkdirTemp(cfg.Home, scratch)
	if err != nil {
		return fail("a directory cannot be made in the data directory: "+cause(err).Error(), noSandbox, "set SANDBOXFS_HOME to a directory that you can write to")
	}
	defer func() {
		if err := hostpath.RemoveAll(real, filepath.Base(home)); err != nil && f.Status == OK {
			f = warn(f.Detail+", but "+home+" cannot be removed: "+cause(err).Error(), "disk space", "rm -r "+quote(home))
		}
	}()
	if _, found := existing(cfg.SkillsDir); !found && filepath.Dir(cfg.SkillsDir) == filepath.Clean(cfg.Home) {
		cfg.SkillsDir = "" // made below the data directory at first use
	}
	cfg.Home, cfg.IdleTimeout = home, idleSeconds
	cfg.Local.MaxSandboxes++ // one of the user's must not end for it
	p, err := provider.New(ctx, cfg)
	if err != nil {
		return broken(err)
	}
	key := mapping.Key{Thread: "doctor"}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanDeadline)
		defer cancel()
		if s, is := p.(provider.Stopper); is {
			if err := s.Stop(end, key); err != nil && f.Status == OK {
				f = broken(err)
			}
		}
		shutdown(end, p)
	}()
	return try(ctx, p, key)
}

// trial writes a file, reads it, and is refused what every sandbox refuses.
const trial = `echo well >here && cat here && pwd && ! touch /mnt/user-data/uploads/no 2>/dev/null && ! test -e /home`

func try(ctx context.Context, p provider.Provider, key mapping.Key) Finding {
	began := time.Now()
	id, err := p.Acquire(ctx, key)
	if err != nil {
		return broken(err)
	}
	sandbox, err := p.Get(id)
	if err != nil {
		return broken(err)
	}
	_, err = sandbox.Execute(ctx, provider.Command{Script: "true"})
	start := time.Since(began)
	if err != nil {
		return broken(err)
	}
	began = time.Now()
	result, err := sandbox.Execute(ctx, provider.Command{Script: trial})
	command := time.Since(began)
	if err != nil {
		return broken(err)
	}
	if result.ExitCode != 0 || string(result.Stdout.Head) != "well\n"+mapping.Workspace+"\n" {
		return fail(fmt.Sprintf("a command in it ended with status %d and said %q, %q", result.ExitCode, result.Stdout.Head, result.Stderr.Head),
			"commands do not see what they should", "")
	}
	f := ok(fmt.Sprintf("started in %v, a command in %v", start.Round(time.Millisecond), command.Round(time.Millisecond)))
	f.StartSeconds, f.CommandSeconds = start.Seconds(), command.Seconds()
	if d, is := sandbox.(provider.Describer); is {
		info, err := d.Describe(ctx)
		if err != nil {
			return broken(err)
		}
		f.Isolation = info.Isolation
	}
	return f
}

// broken is the finding of an error of a provider.
func broken(err error) Finding {
	var e *provider.Error
	if !errors.As(err, &e) {
		return fail(err.Error(), noSandbox, "")
	}
	reason := e.Reason
	if reason == "" {
		reason = string(e.Kind)
	}
	return fail(reason, noSandbox, e.Next)
}

// makeHome makes the data directory where it is missing. What it made is
// removed by undo, where nothing else has come into it.
func makeHome(home string) (undo func(), err error) {
	var made []string
	undo = func() {
		for i := len(made) - 1; i >= 0; i-- {
			if unix.Rmdir(made[i]) != nil {
				return
			}
		}
	}
	dir, found := existing(home)
	if found {
		return undo, nil
	}
	rest, err := filepath.Rel(dir, filepath.Clean(home))
	if err != nil {
		return undo, err
	}
	for _, name := range strings.Split(rest, "/") {
		dir = filepath.Join(dir, name)
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			made = append(made, dir)
		case !os.IsExist(err):
			return undo, err
		}
	}
	return undo, nil
}

// sweep removes what a doctor that was killed left, when it is old enough to
// be no other one's.
func sweep(home *os.File) {
	names, err := os.ReadDir(home.Name())
	if err != nil {
		return
	}
	for _, n := range names {
		info, err := n.Info()
		if err == nil && n.IsDir() && strings.HasPrefix(n.Name(), scratch) && time.Since(info.ModTime()) > scratchAge {
			_ = hostpath.RemoveAll(home, n.Name()) // the next one tries again
		}
	}
}
