//go:build linux

package main

import (
	"errors"
	"time"

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
	if err := onlyFilters(c); err != nil {
		return err
	}
	infos, err := list(c)
	if err != nil {
		return err
	}
	header := []string{"THREAD", "USER", "PROVIDER", "STATE", "COMMANDS", "JOBS", "IDLE", "TIER", "NET"}
	return printRows(c, infos, header, func(i provider.Info) []any {
		idle := "-"
		if i.State == "idle" {
			idle = idleText(i.IdleSeconds)
		}
		return []any{i.Thread, i.User, i.Provider, i.State, i.Commands, i.Jobs, idle, i.Isolation["tier"], i.Isolation["net"]}
	})
}

func idleText(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
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
