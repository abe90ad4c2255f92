//go:build linux

package main

import (
	"errors"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func threadsCommand() *cli.Command {
	return &cli.Command{
		Name:     "threads",
		Category: categoryFiles,
		Usage:    "list the threads that have files, running or not",
		Description: "CHANGED is when one of the thread's own directories changed last; what changes inside\n" +
			"of files, or deeper down, is not looked for.",
		Flags: []cli.Flag{jsonFlag(), providerFlag(),
			&cli.StringFlag{Name: "user", Usage: "only this `user`'s"},
			&cli.BoolFlag{Name: "size", Aliases: []string{"s"}, Usage: "count what each holds, which reads all of its directories"}},
		Action: func(c *cli.Context) error { return inJSON(c, threads(c)) },
	}
}

func threads(c *cli.Context) error {
	if err := onlyFilters(c); err != nil {
		return err
	}
	p, err := open(c.Context, c)
	if err != nil {
		return err
	}
	lister, ok := p.(provider.ThreadLister)
	if !ok {
		return errors.New("this provider cannot list threads")
	}
	infos, err := lister.Threads(c.Context, provider.ThreadOptions{User: c.String("user"), Sizes: c.Bool("size")})
	if err != nil {
		return err
	}
	sizes := c.Bool("size")
	header := []string{"THREAD", "USER", "STATE", "CHANGED"}
	if sizes {
		header = append(header, "SIZE", "FILES")
	}
	return printRows(c, infos, header, func(i provider.ThreadInfo) []any {
		changed := i.Changed
		if at, err := time.Parse(time.RFC3339, i.Changed); err == nil {
			changed = at.Local().Format("2006-01-02 15:04")
		}
		cells := []any{i.Thread, i.User, i.State, changed}
		if sizes {
			cells = append(cells, bytesText(*i.Bytes), *i.Files)
		}
		return cells
	})
}
