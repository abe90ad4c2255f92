//go:build linux

package main

import (
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func gcCommand() *cli.Command {
	return &cli.Command{
		Name:     "gc",
		Category: categorySandboxes,
		Usage:    "remove what crashed sandboxes left; a thread's files stay",
		Flags:    []cli.Flag{jsonFlag(), providerFlag()},
		Action:   func(c *cli.Context) error { return inJSON(c, gc(c)) },
	}
}

func gc(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	p, err := openToManage(c.Context, c)
	if err != nil {
		return err
	}
	collector, ok := p.(provider.Collector)
	if !ok {
		return errors.New("this provider leaves nothing to remove")
	}
	removed, err := collector.Collect(c.Context)
	for _, r := range removed {
		if c.Bool("json") {
			printJSON(c, r)
		} else {
			fmt.Fprintln(c.App.Writer, r)
		}
	}
	return err
}
