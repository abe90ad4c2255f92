//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func rmCommand() *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Category:  categoryFiles,
		Usage:     "delete threads with all of their files, and end their sandboxes",
		ArgsUsage: "THREAD...",
		Description: "On a terminal it asks first. Where there is none, --yes or --force must be given.\n" +
			"A thread in which something runs is deleted only with --force.",
		Flags: []cli.Flag{jsonFlag(), userFlag(), providerFlag(),
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "do not ask, end what runs, and take a thread that is not there for deleted"}},
		Action: func(c *cli.Context) error { return inJSON(c, rm(c)) },
	}
}

func rm(c *cli.Context) error {
	if !c.Args().Present() {
		return usageError{"name a thread: sandboxfs rm [flags] THREAD..."}
	}
	var keys []mapping.Key
	var names []string
	for i, name := range c.Args().Slice() {
		if i > 0 && strings.HasPrefix(name, "-") {
			return strayArgument(c, name)
		}
		key, err := parseThread(c, name)
		if err != nil {
			return err
		}
		keys, names = append(keys, key), append(names, key.String())
	}
	p, err := open(c.Context, c)
	if err != nil {
		return err
	}
	remover, ok := p.(provider.Remover)
	if !ok {
		return errors.New("this provider cannot delete a thread")
	}
	if !c.Bool("yes") && !c.Bool("force") {
		if err := confirm("delete " + strings.Join(names, ", ") + " with all files"); err != nil {
			return err
		}
	}
	how := provider.RemoveIdle
	if c.Bool("force") {
		how = provider.RemoveNow
	}
	var errs []error
	for _, key := range keys {
		err := remover.Remove(c.Context, key, how)
		if c.Bool("force") && errors.Is(err, provider.NotFound) {
			err = nil
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if c.Bool("json") {
			printJSON(c, map[string]string{"thread": key.Thread, "user": key.User, "state": "removed"})
		}
	}
	return errors.Join(errs...)
}

// errRefused is the answer no.
var errRefused = errors.New("nothing was done")

// confirm asks on the terminal. Where there is none, nobody could answer.
func confirm(what string) error {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stderr) {
		return usageError{"there is no terminal to ask on; give --yes to " + what}
	}
	fmt.Fprintf(os.Stderr, "%s? [y/N] ", what)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return errRefused
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errRefused
}
