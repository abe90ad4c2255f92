//go:build linux

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func umountCommand() *cli.Command {
	return &cli.Command{
		Name:      "umount",
		Category:  categoryFiles,
		Usage:     "end a mount of a thread's tree; the thread's files stay",
		ArgsUsage: "MOUNTPOINT | THREAD | --all",
		Description: "Returns when all that was written through the mount is in the thread's directories.\n" +
			"With a thread, all mounts of it are ended. An argument without a slash is a thread, or a\n" +
			"mount point in the working directory.",
		Flags: []cli.Flag{jsonFlag(), providerFlag(),
			&cli.StringFlag{Name: "user", Usage: "the thread's owner (default: \"default\"); with --all, only this `user`'s"},
			&cli.BoolFlag{Name: "lazy", Aliases: []string{"l"}, Usage: "take it out of sight even where it is in use; it ends with its last user"},
			&cli.BoolFlag{Name: "all", Usage: "end every mount"}},
		Action: func(c *cli.Context) error { return inJSON(c, umount(c)) },
	}
}

func umount(c *cli.Context) error {
	points, err := umountPoints(c)
	if err != nil {
		return err
	}
	p, err := open(c.Context, c)
	if err != nil {
		return err
	}
	unmounter, ok := p.(provider.HostUnmounter)
	if !ok {
		return errors.New("this provider has no mounts on the host")
	}
	how := provider.UnmountIdle
	if c.Bool("lazy") {
		how = provider.UnmountLazy
	}
	var errs []error
	for _, point := range points {
		if err := unmounter.UnmountAt(c.Context, point, how); err != nil {
			errs = append(errs, err)
			continue
		}
		if c.Bool("json") {
			printJSON(c, map[string]string{"mountpoint": point, "state": "unmounted"})
		} else if len(points) > 1 || c.Bool("all") {
			fmt.Fprintln(c.App.Writer, point)
		}
	}
	return errors.Join(errs...)
}

// umountPoints finds out which mount points are meant.
func umountPoints(c *cli.Context) ([]string, error) {
	switch {
	case c.Bool("all") && c.Args().Present():
		return nil, usageError{"give either a mount point, a thread or --all"}
	case c.Bool("all"):
		mounts, err := hostMounts(c)
		return pointsOf(mounts), err
	case !c.Args().Present():
		return nil, usageError{"name a mount point or a thread: sandboxfs umount [flags] MOUNTPOINT | THREAD"}
	}
	if err := onlyThread(c); err != nil {
		return nil, err
	}
	arg := c.Args().First()
	if strings.Contains(arg, "/") || arg == "." || arg == ".." {
		return []string{arg}, nil
	}
	return pointsNamed(c, arg)
}

// pointsNamed finds the mounts that a word means: those of a thread, or the one
// in the working directory.
func pointsNamed(c *cli.Context, word string) ([]string, error) {
	key, invalid := parseThread(c, word) // a mount point can have any name
	mounts, err := hostMounts(c)
	if err != nil {
		return nil, err
	}
	here, err := filepath.EvalSymlinks(".")
	if err == nil {
		here, err = filepath.Abs(here)
	}
	var ofThread, inHere []provider.HostMount
	for _, m := range mounts {
		if invalid == nil && m.User == key.User && m.Thread == key.Thread {
			ofThread = append(ofThread, m)
		}
		if err == nil && m.Point == filepath.Join(here, word) {
			inHere = append(inHere, m)
		}
	}
	switch {
	case len(ofThread) == 0:
		return []string{word}, nil // what it is, and whether anything, is found out there
	case len(inHere) == 1 && (len(ofThread) > 1 || ofThread[0].Point != inHere[0].Point):
		return nil, &provider.Error{Kind: provider.Conflict, Op: "umount",
			Reason: fmt.Sprintf("%q is a thread with a mount elsewhere, and a mount point here", word),
			Next:   "write ./" + word + " for the mount point here, or name the other by its path"}
	}
	return pointsOf(ofThread), nil
}

func pointsOf(mounts []provider.HostMount) []string {
	var points []string
	for _, m := range mounts {
		points = append(points, m.Point)
	}
	return points
}
