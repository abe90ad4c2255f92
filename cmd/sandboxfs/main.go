//go:build linux

// Command sandboxfs gives every agent thread a small world of its own and
// runs commands in it. One file per verb; `sandboxfs help` lists them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

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
		execCommand(), runCommand(), shellCommand(), toolCommand(), mcpCommand(),
		cpCommand(), mountCommand(), umountCommand(), threadsCommand(), rmCommand(),
		psCommand(), sessionsCommand(), jobsCommand(), stopCommand(), gcCommand(),
		auditCommand(),
		doctorCommand(), configCommand(), completionCommand(), versionCommand(),
	}
	out, wrong := &output{file: os.Stdout}, usage(args)
	for _, v := range verbs {
		v.OnUsageError = wrong   // it is not inherited
		v.HideHelpCommand = true // else no thread could be called "h" or "help"
		v.Action = kept(out, v.Action)
		for _, sub := range v.Subcommands {
			sub.OnUsageError, sub.HideHelpCommand, sub.Action = wrong, true, kept(out, sub.Action)
		}
		if v.Name != "version" && v.Name != "completion" {
			v.Flags = append(v.Flags, configFlag())
		}
	}
	if len(args) > 1 && args[1] == completeVerb {
		complete(ctx, out, verbs, args[2:])
		return 0
	}
	app := &cli.App{
		Name:                      "sandboxfs",
		Usage:                     "small worlds for agent threads, at literal paths below /mnt",
		HideVersion:               true, // our flag has no letter, and prints what the verb does
		Writer:                    out,
		UseShortOptionHandling:    true,
		DisableSliceFlagSeparator: true, // a value with a comma stays one value
		Suggest:                   true,
		Commands:                  verbs,
		Flags: []cli.Flag{configFlag(),
			&cli.BoolFlag{Name: "version", Usage: "say which build this is, as the verb does"}},
		Before: func(c *cli.Context) error {
			verb = c.Args().First()
			if !c.Bool("version") {
				return nil
			}
			if err := printVersion(c); err != nil {
				return err
			}
			return exitStatus(0)
		},
		// The exit status is decided in one place, below.
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    wrong,
		CommandNotFound: func(_ *cli.Context, name string) { unknown = unknownVerb(verbs, name) },
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownVerb(verbs, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	err := errors.Join(app.RunContext(ctx, args), unknown)
	// What no verb has printed: help and the version.
	if lost := out.lost(); lost != nil && !errors.Is(err, lost) {
		err = lost
	}
	var status exitStatus
	if errors.As(err, &status) && out.lost() == nil {
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

// usage returns what puts the words of the flag parser into such that help. args
// is the command line.
func usage(args []string) cli.OnUsageErrorFunc {
	return func(c *cli.Context, err error, _ bool) error {
		return usageError{flagError(err.Error(), args, c.Command.HelpName+" --help")}
	}
}

var (
	undefinedFlag = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	needsValue    = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	badBoolean    = regexp.MustCompile(`^invalid boolean value ("(?s:.*)") for -([^ ]+): `)
)

// flagError rewrites a message of package flag. help is how to see more.
func flagError(text string, args []string, help string) string {
	if m := undefinedFlag.FindStringSubmatch(text); m != nil {
		if slices.Contains(args, "-"+m[1]) { // letters together, not all of them flags
			return fmt.Sprintf("there is no flag -%s; see: %s", m[1], help)
		}
		return fmt.Sprintf("there is no flag %s; see: %s", dashed(m[1]), help)
	}
	if m := needsValue.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the flag %s needs a value; see: %s", dashed(m[1]), help)
	}
	if m := badBoolean.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the flag %s is given without a value, and not with %s", dashed(m[2]), m[1])
	}
	return text
}

// dashed writes a flag as it is given: -n, --net.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
