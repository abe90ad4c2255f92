//go:build linux

package main

import (
	"fmt"
	"os"

	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/urfave/cli/v2"
)

// configFlag names the configuration file, before the verb or after it.
func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Usage: "read this configuration `FILE`"}
}

// settings loads the configuration, once for a process, and passes its
// warnings on.
func settings(c *cli.Context) (*config.Config, error) {
	const kept = "config"
	if cfg, ok := c.App.Metadata[kept].(*config.Config); ok {
		return cfg, nil
	}
	cfg, err := config.Load(config.Sources{
		File: configFile(c), Getenv: os.Getenv, UID: os.Geteuid(), Flags: givenFlags(c),
	})
	if err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(os.Stderr, "sandboxfs: warning:", w)
	}
	c.App.Metadata[kept] = cfg
	return cfg, nil
}

// configFile is what --config says; the verb's own wins over the one before
// the verb.
func configFile(c *cli.Context) string {
	for _, level := range c.Lineage() {
		for _, name := range level.LocalFlagNames() {
			if name == "config" {
				return level.String(name)
			}
		}
	}
	return ""
}

// givenFlags are the flags that set a key of the configuration.
func givenFlags(c *cli.Context) map[string]string {
	given := map[string]string{}
	for _, k := range config.Keys() {
		if k.Flag != "" && c.IsSet(k.Flag) {
			given[k.Name] = fmt.Sprint(c.Value(k.Flag))
		}
	}
	return given
}
