//go:build linux

// Command sandboxfs gives every agent thread a small world of its own and
// runs commands in it. One file per verb; `sandboxfs help` lists them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/doctor"
	_ "github.com/sandboxfs/sandboxfs/local"
	"github.com/urfave/cli/v2"
)

func main() {
	if doctor.IsChild() {
		os.Exit(doctor.ChildMain())
	}
	cli.HelpPrinter = printHelp
	os.Exit(run(context.Background(), os.Args))
}

// run is main without the exit: it returns the exit status.
func run(ctx context.Context, args []string) int {
	var unknown error // what help was asked for and does not know
	verb := ""
	verbs := []*cli.Command{
		execCommand(), runCommand(), shellCommand(),
		cpCommand(), mountCommand(), umountCommand(), threadsCommand(), rmCommand(),
		psCommand(), sessionsCommand(), jobsCommand(), stopCommand(), gcCommand(),
		doctorCommand(), configCommand(), completionCommand(), versionCommand(),
	}
	for _, v := range verbs {
		v.OnUsageError = wrongUsage // it is not inherited
		v.HideHelpCommand = true    // else no thread could be called "h" or "help"
		if v.Name != "version" && v.Name != "completion" {
			v.Flags = append(v.Flags, configFlag())
		}
	}
	if len(args) > 1 && args[1] == completeVerb {
		complete(ctx, os.Stdout, verbs, args[2:])
		return 0
	}
	app := &cli.App{
		Name:                      "sandboxfs",
		Usage:                     "small worlds for agent threads, at literal paths below /mnt",
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // a value with a comma stays one value
		Suggest:                   true,
		Commands:                  verbs,
		Flags:                     []cli.Flag{configFlag()},
		Before: func(c *cli.Context) error {
			verb = c.Args().First()
			return nil
		},
		// The exit status is decided in one place, below.
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    wrongUsage,
		CommandNotFound: func(_ *cli.Context, name string) { unknown = unknownVerb(verbs, name) },
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownVerb(verbs, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	err := errors.Join(app.RunContext(ctx, args), unknown)
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

func unknownVerb(verbs []*cli.Command, name string) error {
	text := fmt.Sprintf("there is no verb %q", name)
	if hint := cli.SuggestCommand(verbs, name); hint != "" {
		text += ". " + hint
	}
	return usageError{text + " See: sandboxfs help"}
}

// wrongUsage puts what the flag parser says into words that help.
func wrongUsage(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		text = fmt.Sprintf("there is no flag --%s; see: sandboxfs %s --help", strings.TrimLeft(name, "-"), c.Command.Name)
	}
	if strings.Contains(text, "for flag -timeout") {
		text += "; write a duration such as 30s or 10m"
	}
	return usageError{text}
}
