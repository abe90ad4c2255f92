//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:     "config",
		Category: categorySetup,
		Usage:    "print the settings in force and where each came from; write a file with all of them",
		Description: "Flags win over the environment, that over the file, that over the defaults. Secrets are\n" +
			"not shown. `config init` writes a file that has every key with its default, as a comment.",
		Flags:  []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error { return inJSON(c, showConfig(c)) },
		Subcommands: []*cli.Command{{
			Name:      "init",
			Usage:     "write a configuration file with every key as a comment; - for standard output",
			ArgsUsage: "[FILE]",
			Flags: []cli.Flag{jsonFlag(),
				&cli.BoolFlag{Name: "force", Usage: "replace a file that is there"}},
			Action: func(c *cli.Context) error { return inJSON(c, initConfig(c)) },
		}},
	}
}

func showConfig(c *cli.Context) error {
	if c.Args().Present() {
		return usageError{fmt.Sprintf("config takes no argument but init, and got %q", c.Args().First())}
	}
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = printConfigJSON(c, cfg)
	} else {
		err = printConfig(c, cfg)
	}
	if err != nil {
		return err
	}
	// Each value is right by itself; do they fit together?
	_, err = cfg.Provider.Resolve(provider.ProcessEnvironment())
	return err
}

func printConfigJSON(c *cli.Context, cfg *config.Config) error {
	for _, v := range cfg.Values() {
		if err := printJSON(c, v); err != nil {
			return err
		}
	}
	for _, v := range cfg.Unknown {
		if err := printJSON(c, struct {
			config.Value
			Unknown bool `json:"unknown"`
		}{v, true}); err != nil {
			return err
		}
	}
	return printJSON(c, map[string]string{"file": cfg.File})
}

func printConfig(c *cli.Context, cfg *config.Config) error {
	t := newTable(c.App.Writer, "KEY", "VALUE", "FROM")
	for _, v := range cfg.Values() {
		t.row(v.Key, v.Text(), v.Origin)
	}
	for _, v := range cfg.Unknown {
		t.row(v.Key, v.Text(), v.Origin.String()+" (has no effect)")
	}
	if err := t.flush(); err != nil {
		return err
	}
	file := cfg.File
	if file == "" {
		file = "none was found"
	}
	_, err := fmt.Fprintln(c.App.Writer, "\nConfiguration file:", file)
	return err
}

// initConfig writes the file. It holds secrets once somebody puts them there,
// so that nobody else may read it.
func initConfig(c *cli.Context) error {
	if c.NArg() > 1 {
		return usageError{fmt.Sprintf("config init takes one file, but got %q too", c.Args().Get(1))}
	}
	name := c.Args().First()
	if name == "-" {
		_, err := fmt.Fprint(c.App.Writer, config.Sample())
		return err
	}
	if name == "" {
		name = configFile(c)
	}
	if name == "" {
		name = os.Getenv(config.FileVariable)
	}
	if name == "" {
		name = config.UserFile(os.Getenv)
	}
	if name == "" {
		return usageError{"name the file to write: sandboxfs config init FILE"}
	}
	if err := writeSample(name, c.Bool("force")); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, map[string]string{"file": name})
	}
	_, err := fmt.Fprintln(c.App.Writer, name)
	return err
}

func writeSample(name string, replace bool) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(name); err == nil && !replace {
		return &provider.Error{Kind: provider.Exists, Op: "config init", Reason: name + " is there already", Next: "give another name, or --force to replace it"}
	}
	// Whole or not at all, in place of what is there.
	tmp, err := os.CreateTemp(filepath.Dir(name), ".sandboxfs-config-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(config.Sample())
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if replace {
		return os.Rename(tmp.Name(), name)
	}
	return os.Link(tmp.Name(), name) // refuses a name that came into being meanwhile
}
