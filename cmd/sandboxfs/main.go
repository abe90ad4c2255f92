// Command sandboxfs gives every agent thread a small world of its own and
// runs commands in it. One file per verb; `sandboxfs help` lists them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	_ "github.com/sandboxfs/sandboxfs/local"
	"github.com/urfave/cli/v2"
)

func main() {
	os.Exit(run(context.Background(), os.Args))
}

// run is main without the exit: it returns the exit status.
func run(ctx context.Context, args []string) int {
	wrongUsage := func(_ *cli.Context, err error, _ bool) error { return usageError{err.Error()} }
	verbs := []*cli.Command{
		execCommand(), shellCommand(), psCommand(), stopCommand(), gcCommand(), versionCommand(),
	}
	for _, v := range verbs {
		v.OnUsageError = wrongUsage // it is not inherited
		v.HideHelpCommand = true    // else no thread could be called "h" or "help"
	}
	app := &cli.App{
		Name:                      "sandboxfs",
		Usage:                     "small worlds for agent threads, at literal paths below /mnt",
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // a value with a comma stays one value
		Suggest:                   true,
		Commands:                  verbs,
		// The exit status is decided in one place, below.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   wrongUsage,
		CommandNotFound: func(c *cli.Context, name string) {
			fmt.Fprintf(os.Stderr, "sandboxfs: there is no verb %q; see: sandboxfs help\n", name)
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError{fmt.Sprintf("there is no verb %q; see: sandboxfs help", c.Args().First())}
			}
			return cli.ShowAppHelp(c)
		},
	}
	err := app.RunContext(ctx, args)
	verb := ""
	if len(args) > 1 {
		verb = args[1]
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	if err != nil {
		report(err)
		return codeOf(verb, err)
	}
	return 0
}
