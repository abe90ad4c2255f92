//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func psCommand() *cli.Command {
	return &cli.Command{
		Name:     "ps",
		Category: categorySandboxes,
		Usage:    "list the live sandboxes",
		Flags: []cli.Flag{jsonFlag(), providerFlag(),
			&cli.StringFlag{Name: "user", Usage: "only this `user`'s"}},
		Action: func(c *cli.Context) error { return inJSON(c, ps(c)) },
	}
}

func ps(c *cli.Context) error {
	if c.Args().Present() {
		return usageError{fmt.Sprintf("ps takes no argument, but got %q", c.Args().First())}
	}
	if user := c.String("user"); user != "" {
		if err := mapping.ValidateID("user", user); err != nil {
			return usageError{err.Error()}
		}
	}
	infos, err := list(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		out := json.NewEncoder(os.Stdout)
		for _, info := range infos {
			if err := out.Encode(info); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(os.Stdout, "THREAD", "USER", "PROVIDER", "STATE", "COMMANDS", "JOBS", "IDLE", "TIER", "NET")
	for _, i := range infos {
		idle := "-"
		if i.State == "idle" {
			idle = time.Duration(i.IdleSeconds * float64(time.Second)).Round(time.Second).String()
		}
		t.row(i.Thread, i.User, i.Provider, i.State, i.Commands, i.Jobs, idle, i.Isolation["tier"], i.Isolation["net"])
	}
	return t.flush()
}

// list returns the sandboxes of the chosen provider and, where --user is
// given, of that user alone.
func list(c *cli.Context) ([]provider.Info, error) {
	p, err := openToManage(c.Context, c)
	if err != nil {
		return nil, err
	}
	lister, ok := p.(provider.Lister)
	if !ok {
		return nil, errors.New("this provider cannot list its sandboxes")
	}
	infos, err := lister.List(c.Context)
	if err != nil {
		return nil, err
	}
	var chosen []provider.Info
	for _, i := range infos {
		if user := c.String("user"); user == "" || user == i.User {
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}
