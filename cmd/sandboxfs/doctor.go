//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/doctor"
	"github.com/sandboxfs/sandboxfs/internal/version"
	"github.com/urfave/cli/v2"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Category:  categorySetup,
		Usage:     "say whether this machine can run sandboxes, and what to do where it cannot",
		ArgsUsage: "[THREAD]",
		Description: "One line a check: ok, warn (something is lost) or fail (no sandboxes), and the cure.\n" +
			"Each check tries the thing itself; the last one starts a sandbox and says which\n" +
			"mechanism stands behind each promise, or asks the thread's own where it runs.\n" +
			"Nothing is changed, and nothing is left.\n\n" +
			"Exit status: 0 where nothing failed, 1 otherwise.",
		Flags:  append([]cli.Flag{jsonFlag(), userFlag(), providerFlag()}, newFlags()...),
		Action: func(c *cli.Context) error { return inJSON(c, diagnose(c)) },
	}
}

func diagnose(c *cli.Context) error {
	o := doctor.Options{Version: version.Get().Version}
	var err error
	if c.Args().Present() {
		if o.Thread, err = keyOf(c); err == nil {
			err = onlyThread(c)
		}
		if err != nil {
			return err
		}
	}
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	o.Config = cfg.Provider
	ctx, end := interruptible(c.Context)
	defer end()
	var worst doctor.Status
	done := make(chan error, 1)
	go func() {
		var err error
		worst, err = doctor.Run(ctx, o, func(f doctor.Finding) {
			if c.Bool("json") {
				printJSON(c, f)
			} else {
				printFinding(c.App.Writer, f)
			}
		})
		done <- err
	}()
	if err := waitInterrupted(ctx, done); err != nil {
		return err
	}
	if worst == doctor.Fail {
		return exitStatus(1)
	}
	return nil
}

func printFinding(w io.Writer, f doctor.Finding) {
	status := string(f.Status)
	pad := strings.Repeat(" ", max(0, len("fail")-len(status)))
	fmt.Fprintf(w, "%s  %-17s  %s", styleOf(w).state(status)+pad, f.Check, f.Detail)
	if f.Lost != "" {
		fmt.Fprintf(w, "; lost: %s", f.Lost)
	}
	if f.Cure != "" {
		fmt.Fprintf(w, "; cure: %s", f.Cure)
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(f.Isolation)) {
		fmt.Fprintf(w, "      %17s  %s\n", name, f.Isolation[name])
	}
}
