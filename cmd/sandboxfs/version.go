//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"

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
			if c.Args().Present() {
				return inJSON(c, usageError{fmt.Sprintf("version takes no argument, but got %q", c.Args().First())})
			}
			v := version.Get()
			if c.Bool("json") {
				return json.NewEncoder(os.Stdout).Encode(v)
			}
			_, err := fmt.Printf("sandboxfs %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			return err
		},
	}
}
