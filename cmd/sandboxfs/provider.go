//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

// userFlag and providerFlag are on every verb that takes a thread.
func userFlag() cli.Flag {
	return &cli.StringFlag{Name: "user", Value: mapping.DefaultUser, Usage: "the `user` who owns the thread; USER:THREAD says it too"}
}

func providerFlag() cli.Flag {
	return &cli.StringFlag{Name: "provider", Usage: "`name` of what runs sandboxes (default: local)"}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object a line, errors too"}
}

// newFlags shape a sandbox that the verb may have to make. What they are
// without being given is the configuration's matter.
func newFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "net", Usage: "the `network` of a sandbox made by this call: host (default) or none"},
		&cli.StringFlag{Name: "tier", Usage: "the `tier` of a sandbox made by this call: isolated (default) or host, which needs allow_host_bash"},
	}
}

// open makes the provider that flags, environment and file choose.
func open(ctx context.Context, c *cli.Context) (provider.Provider, error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, err
	}
	return provider.New(ctx, cfg.Provider)
}

// openToManage is open for a verb that makes no sandbox: it works also where a
// mount's directory is gone, so that what runs can be seen and stopped.
func openToManage(ctx context.Context, c *cli.Context) (provider.Provider, error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, err
	}
	manage := cfg.Provider
	manage.Mounts = nil
	return provider.New(ctx, manage)
}

// keyOf reads the thread, the first argument, and --user.
func keyOf(c *cli.Context) (mapping.Key, error) {
	if !c.Args().Present() {
		return mapping.Key{}, usageError{fmt.Sprintf("name a thread: sandboxfs %s [flags] THREAD", c.Command.Name)}
	}
	return parseThread(c, c.Args().First())
}

// parseThread reads THREAD, whose owner is --user, or USER:THREAD, the form in
// which threads of other users are printed.
func parseThread(c *cli.Context, name string) (mapping.Key, error) {
	key := mapping.Key{User: c.String("user"), Thread: name}
	if user, thread, ok := strings.Cut(name, ":"); ok {
		if c.IsSet("user") && key.User != user {
			return key, usageError{fmt.Sprintf("%q names the user %q, and --user %q; give one of them", name, user, key.User)}
		}
		key = mapping.Key{User: user, Thread: thread}
	} else if key.User == "" && !c.IsSet("user") {
		key.User = mapping.DefaultUser // a verb whose --user is a filter besides
	}
	if err := mapping.ValidateID("user", key.User); err != nil {
		return key, usageError{err.Error()}
	}
	if err := mapping.ValidateID("thread", key.Thread); err != nil {
		return key, usageError{err.Error()}
	}
	return key, nil
}

// onlyThread refuses arguments after the thread.
func onlyThread(c *cli.Context) error {
	if c.NArg() <= 1 {
		return nil
	}
	return strayArgument(c, c.Args().Get(1))
}

func strayArgument(c *cli.Context, arg string) error {
	if strings.HasPrefix(arg, "-") {
		return usageError{fmt.Sprintf("the flag %s comes after the thread; write: sandboxfs %s %s ... %s", arg, c.Command.Name, arg, c.Args().First())}
	}
	return usageError{fmt.Sprintf("%q is one argument too many; see: sandboxfs %s --help", arg, c.Command.Name)}
}

// noArguments refuses arguments of a verb that takes none.
func noArguments(c *cli.Context) error {
	if !c.Args().Present() {
		return nil
	}
	return usageError{fmt.Sprintf("%s takes no argument, but got %q", c.Command.Name, c.Args().First())}
}

// onlyFilters does so for a verb that lists, and looks at its filter --user.
func onlyFilters(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	user := c.String("user")
	if user == "" {
		return nil
	}
	if err := mapping.ValidateID("user", user); err != nil {
		return usageError{err.Error()}
	}
	return nil
}
