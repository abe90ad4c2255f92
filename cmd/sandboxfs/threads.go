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
	if c.Args().Present() {
		return usageError{fmt.Sprintf("threads takes no argument, but got %q", c.Args().First())}
	}
	if user := c.String("user"); user != "" {
		if err := mapping.ValidateID("user", user); err != nil {
			return usageError{err.Error()}
		}
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
	if c.Bool("json") {
		out := json.NewEncoder(os.Stdout)
		for _, info := range infos {
			if err := out.Encode(info); err != nil {
				return err
			}
		}
		return nil
	}
	return printThreads(infos, c.Bool("size"))
}

func printThreads(infos []provider.ThreadInfo, sizes bool) error {
	header := []string{"THREAD", "USER", "STATE", "CHANGED"}
	if sizes {
		header = append(header, "SIZE", "FILES")
	}
	t := newTable(os.Stdout, header...)
	for _, i := range infos {
		changed := i.Changed
		if at, err := time.Parse(time.RFC3339, i.Changed); err == nil {
			changed = at.Local().Format("2006-01-02 15:04")
		}
		row := []any{i.Thread, i.User, i.State, changed}
		if sizes {
			row = append(row, bytesText(*i.Bytes), *i.Files)
		}
		t.row(row...)
	}
	return t.flush()
}
