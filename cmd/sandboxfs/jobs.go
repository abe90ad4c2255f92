//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func jobsCommand() *cli.Command {
	return &cli.Command{
		Name:      "jobs",
		Category:  categorySandboxes,
		Usage:     "list or stop the background jobs of a thread's sessions",
		ArgsUsage: "THREAD",
		Description: "A job is what a session's command has left running, also where it put itself into the\n" +
			"background. It lives until it ends, is stopped, or its session or sandbox ends; while\n" +
			"it lives the sandbox is not idle.",
		Flags: []cli.Flag{userFlag(), providerFlag(), jsonFlag(),
			&cli.StringFlag{Name: "session", Usage: "only the jobs of this `session`"},
			&cli.StringSliceFlag{Name: "stop", Usage: "end the job with this `ID`, and all it started: SIGTERM, after 2 seconds SIGKILL; may be repeated"}},
		Action: func(c *cli.Context) error { return inJSON(c, jobs(c)) },
	}
}

func jobs(c *cli.Context) error {
	if err := onlyThread(c); err != nil {
		return err
	}
	stop := c.StringSlice("stop")
	if len(stop) > 0 && c.IsSet("session") {
		return usageError{"an ID names its session; give --stop without --session"}
	}
	sandbox, err := find(c)
	none := errors.Is(err, provider.NotFound) && len(stop) == 0
	if none {
		err = checkThread(c)
	}
	if err != nil {
		return err
	}
	keeper, ok := sandbox.(provider.JobKeeper)
	var all []provider.Job
	switch {
	case none: // no sandbox, no job
	case !ok:
		err = errors.New("sandboxes of this provider keep no jobs")
	case len(stop) > 0:
		return stopJobs(c, keeper, stop)
	default:
		all, err = keeper.Jobs(c.Context)
	}
	if err != nil {
		return err
	}
	if name := c.String("session"); name != "" {
		all = slices.DeleteFunc(all, func(j provider.Job) bool { return j.Session != name })
	}
	header := []string{"JOB", "SESSION", "PROCESSES", "STARTED", "COMMAND"}
	return printRows(c, all, header, func(j provider.Job) []any {
		return []any{j.ID, j.Session, j.Processes, j.Started, j.Command}
	})
}

// stopJobs goes on past a job that is not there.
func stopJobs(c *cli.Context, keeper provider.JobKeeper, ids []string) error {
	var errs []error
	for _, id := range ids {
		err := keeper.StopJob(c.Context, id)
		errs = append(errs, err)
		if err == nil && c.Bool("json") {
			printJSON(c, map[string]string{"job": id, "state": "stopped"})
		}
	}
	return errors.Join(errs...)
}

// find returns a thread's live sandbox and starts none. Kind: not found.
func find(c *cli.Context) (provider.Sandbox, error) {
	key, err := keyOf(c)
	if err != nil {
		return nil, err
	}
	p, err := openToManage(context.WithoutCancel(c.Context), c)
	if err != nil {
		return nil, err
	}
	finder, ok := p.(provider.Finder)
	if !ok {
		return nil, fmt.Errorf("this provider cannot look at a sandbox without starting it")
	}
	return finder.Find(c.Context, key)
}

// checkThread demands that a thread exists, so that an empty list is an honest
// answer. Kind: not found.
func checkThread(c *cli.Context) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	p, err := openToManage(c.Context, c)
	if err != nil {
		return err
	}
	opener, ok := p.(provider.DataDirOpener)
	if !ok {
		return nil // its threads are nowhere but in their sandboxes
	}
	dir, err := opener.OpenDataDir(c.Context, key)
	if err != nil {
		return err
	}
	return dir.Close()
}
