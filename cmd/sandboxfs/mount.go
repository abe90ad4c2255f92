//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func mountCommand() *cli.Command {
	return &cli.Command{
		Name:      "mount",
		Category:  categoryFiles,
		Usage:     "show a thread's tree at an empty directory of the host, or list the mounts",
		ArgsUsage: "[THREAD MOUNTPOINT]",
		Description: "Returns when it is mounted; the files are then at MOUNTPOINT/mnt/user-data. The mount\n" +
			"stays until sandboxfs umount. A thread that does not exist is made, as by exec.\n" +
			"Without arguments the mounts are listed.",
		Flags: []cli.Flag{userFlag(), providerFlag(), jsonFlag(),
			&cli.StringFlag{Name: "view", Value: provider.ViewOperator, Usage: "`operator`: uploads and acp-workspace can be written; or agent: what a command sees"},
			&cli.StringFlag{Name: "ownership", Value: provider.OwnershipOwner, Usage: "`owner`: every file is shown as yours; or preserve: as on disk (root only)"},
			&cli.BoolFlag{Name: "allow-other", Usage: "let other users of this machine in, as far as owner and modes allow"},
		},
		Action: func(c *cli.Context) error { return inJSON(c, mount(c)) },
	}
}

func mount(c *cli.Context) error {
	if !c.Args().Present() {
		return listMounts(c)
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	switch {
	case c.NArg() == 1:
		return usageError{fmt.Sprintf("name a directory to mount at: sandboxfs mount [flags] %s MOUNTPOINT", key.Thread)}
	case c.NArg() > 2:
		return strayArgument(c, c.Args().Get(2))
	}
	p, err := open(c.Context, c)
	if err != nil {
		return err
	}
	mounter, ok := p.(provider.HostMounter)
	if !ok {
		return errors.New("this provider cannot mount a thread on the host")
	}
	m, err := mounter.MountAt(c.Context, key, provider.HostMountOptions{
		Point: c.Args().Get(1), View: c.String("view"), Ownership: c.String("ownership"), AllowOther: c.Bool("allow-other"),
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, m)
	}
	if m.NewThread {
		fmt.Fprintf(os.Stderr, "sandboxfs: the thread %s is new; its directories were made\n", m.ThreadKey())
	}
	if m.Already {
		fmt.Fprintf(os.Stderr, "sandboxfs: the thread %s is mounted there already\n", m.ThreadKey())
	}
	return nil
}

func listMounts(c *cli.Context) error {
	mounts, err := hostMounts(c)
	if err != nil {
		return err
	}
	header := []string{"THREAD", "USER", "VIEW", "OWNERSHIP", "FOR", "STATE", "MOUNTPOINT"}
	return printRows(c, mounts, header, func(m provider.HostMount) []any {
		return []any{m.Thread, m.User, m.View, m.Ownership, m.Audience, m.State, m.Point}
	})
}

// hostMounts returns the mounts of the chosen provider and, where --user is
// given, of that user alone.
func hostMounts(c *cli.Context) ([]provider.HostMount, error) {
	p, err := open(c.Context, c)
	if err != nil {
		return nil, err
	}
	lister, ok := p.(provider.HostMountLister)
	if !ok {
		return nil, errors.New("this provider has no mounts on the host")
	}
	mounts, err := lister.HostMounts(c.Context)
	if err != nil || !c.IsSet("user") {
		return mounts, err
	}
	var chosen []provider.HostMount
	for _, m := range mounts {
		if m.User == c.String("user") {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}
