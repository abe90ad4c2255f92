//go:build linux

package main

import (
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func stopCommand() *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Category:  categorySandboxes,
		Usage:     "end a thread's sandbox and all that runs in it; its files stay",
		ArgsUsage: "THREAD | --all",
		Flags: []cli.Flag{jsonFlag(), providerFlag(),
			&cli.StringFlag{Name: "user", Usage: "the thread's owner (default: \"default\"); with --all, only this `user`'s"},
			&cli.BoolFlag{Name: "all", Usage: "end every sandbox"}},
		Action: func(c *cli.Context) error { return inJSON(c, stop(c)) },
	}
}

func stop(c *cli.Context) error {
	if !c.Bool("all") {
		if err := onlyThread(c); err != nil {
			return err
		}
		key, err := keyOf(c)
		if err != nil {
			return err
		}
		return stopKeys(c, key)
	}
	if c.Args().Present() {
		return usageError{"give either a thread or --all"}
	}
	infos, err := list(c)
	if err != nil {
		return err
	}
	keys := make([]mapping.Key, len(infos))
	for i, info := range infos {
		keys[i] = mapping.Key{User: info.User, Thread: info.Thread}
	}
	return stopKeys(c, keys...)
}

// stopKeys ends sandboxes and goes on past one that does not end.
func stopKeys(c *cli.Context, keys ...mapping.Key) error {
	p, err := openToManage(c.Context, c)
	if err != nil {
		return err
	}
	stopper, ok := p.(provider.Stopper)
	if !ok {
		return errors.New("this provider cannot end a sandbox")
	}
	var errs []error
	for _, key := range keys {
		if err := stopper.Stop(c.Context, key); err != nil {
			errs = append(errs, err)
			continue
		}
		if c.Bool("json") {
			key := key.Normalize()
			printJSON(c, map[string]string{"thread": key.Thread, "user": key.User, "state": "stopped"})
		} else if c.Bool("all") {
			fmt.Fprintln(c.App.Writer, key) // in a form that every verb takes
		}
	}
	return errors.Join(errs...)
}
