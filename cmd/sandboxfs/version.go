//go:build linux

package main

import (
	"fmt"

	"github.com/sandboxfs/sandboxfs/internal/version"
	"github.com/urfave/cli/v2"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:     "version",
		Category: categorySetup,
		Usage:    "say which build this is",
		Flags:    []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return inJSON(c, err)
			}
			return inJSON(c, printVersion(c))
		},
	}
}

func printVersion(c *cli.Context) error {
	v := version.Get()
	if c.Bool("json") {
		return printJSON(c, v)
	}
	_, err := fmt.Fprintf(c.App.Writer, "sandboxfs %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	return err
}
