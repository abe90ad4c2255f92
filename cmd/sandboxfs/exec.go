//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Category:  categoryRun,
		Usage:     "run a command in a thread's sandbox and pass its exit status on",
		ArgsUsage: "THREAD [--] COMMAND [ARGUMENT...]",
		Description: "The sandbox is started where there is none. Standard input is passed on where it is\n" +
			"a pipe or a file, and /dev/null where it is a terminal. What the command leaves\n" +
			"running is ended with it.\n\n" +
			"With --session NAME the one argument is shell text, run by a shell that is kept: its\n" +
			"directory, variables, functions and background jobs are there for the next command.\n\n" +
			"Exit status: the command's own; 128+N after signal N; 124 our timeout; 125 our own\n" +
			"failure or wrong usage; 126 not executable; 127 not found.",
		Flags: append(execFlags(),
			&cli.StringFlag{Name: "session", Usage: "run shell text in the thread's session of this `name`, which keeps its state"}),
		Action: func(c *cli.Context) error {
			argv, err := commandOf(c)
			if err != nil {
				return err
			}
			cmd, err := commandFrom(c, argv)
			if err != nil {
				return err
			}
			if c.IsSet("session") {
				if err := inSession(c, &cmd); err != nil {
					return err
				}
			}
			return execute(c, cmd)
		},
	}
}

// inSession makes a session's command: its one argument is shell text.
func inSession(c *cli.Context, cmd *provider.Command) error {
	cmd.Session = c.String("session")
	switch {
	case !provider.IsSessionName(cmd.Session):
		return usageError{fmt.Sprintf("%q is not the name of a session: use 1 to 64 letters, digits, '_' and '-'", cmd.Session)}
	case c.Bool("tty"):
		return usageError{"a session's shell has no terminal; give either --tty or --session"}
	case len(cmd.Argv) > 1:
		return usageError{fmt.Sprintf("a session takes one argument, which is shell text; write: sandboxfs exec --session %s %s -- '%s'",
			cmd.Session, c.Args().First(), strings.ReplaceAll(strings.Join(cmd.Argv, " "), "'", `'\''`))}
	}
	cmd.Script, cmd.Argv = cmd.Argv[0], nil
	return nil
}

// execFlags are those of the verbs that run one command.
func execFlags() []cli.Flag {
	return append([]cli.Flag{
		userFlag(), providerFlag(),
		&cli.StringFlag{Name: "timeout", Usage: "end the command after this `time`: seconds, or 30s, 10m; 0 for never", DefaultText: "10m"},
		&cli.StringFlag{Name: "max-output", Usage: "bound each stream to this `size`: bytes, or 10k, 1MiB; head and tail are kept; 0 for no bound", DefaultText: "0"},
		&cli.StringFlag{Name: "workdir", Aliases: []string{"C"}, Usage: "working `directory`, a virtual path (default: the workspace)"},
		&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "set `KEY=VALUE` in the command's environment; may be repeated"},
		&cli.BoolFlag{Name: "tty", Aliases: []string{"t"}, Usage: "give the command a terminal"},
		&cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: "pass standard input on even from a terminal"},
		&cli.BoolFlag{Name: "no-stdin", Aliases: []string{"n"}, Usage: "do not read standard input"},
	}, newFlags()...)
}

// commandFrom makes a command of what execFlags say.
func commandFrom(c *cli.Context, argv []string) (provider.Command, error) {
	env, err := envOf(c.StringSlice("env"))
	if err != nil {
		return provider.Command{}, err
	}
	cfg, err := settings(c)
	if err != nil {
		return provider.Command{}, err
	}
	timeout := cfg.CommandTimeout
	if timeout == 0 {
		timeout = -1
	}
	var maxOutput int64
	if size := c.String("max-output"); size != "" {
		if maxOutput, err = config.ParseBytes(size); err != nil {
			return provider.Command{}, usageError{"--max-output " + err.Error()}
		}
	}
	if dir := c.String("workdir"); dir != "" && !strings.HasPrefix(dir, "/") {
		return provider.Command{}, usageError{fmt.Sprintf("-C %s: give an absolute virtual path such as /mnt/user-data/outputs", dir)}
	}
	cmd := provider.Command{
		Argv: argv, Dir: c.String("workdir"), Env: env, Timeout: timeout, MaxOutput: maxOutput,
		Stdin: stdinOf(c),
	}
	if c.Bool("tty") {
		cmd.TTY, cmd.Stdin = newTTY(), os.Stdin
	}
	return cmd, nil
}

// commandOf returns what follows the thread, without a leading "--".
func commandOf(c *cli.Context) ([]string, error) {
	args := c.Args().Slice()
	if len(args) < 2 {
		if _, err := keyOf(c); err != nil {
			return nil, err
		}
		return nil, usageError{"name a command: sandboxfs exec [flags] THREAD -- COMMAND [ARGUMENT...]"}
	}
	switch {
	case args[1] == "--":
		args = args[2:]
	case strings.HasPrefix(args[1], "-"):
		return nil, strayArgument(c, args[1])
	default:
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "" {
		return nil, usageError{"name a command: sandboxfs exec [flags] THREAD -- COMMAND [ARGUMENT...]"}
	}
	return args, nil
}

func envOf(pairs []string) (map[string]string, error) {
	env := make(map[string]string, len(pairs))
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Sprintf("-e %s: write KEY=VALUE", p)}
		}
		env[key] = value
	}
	return env, nil
}

// execute runs one command with this process's streams.
func execute(c *cli.Context, cmd provider.Command) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	p, err := open(ctx, c)
	if err != nil {
		return err
	}
	return executeIn(ctx, c, p, key, cmd, func() {})
}

// executeIn runs one command in a thread; started is called when it runs.
func executeIn(ctx context.Context, c *cli.Context, p provider.Provider, key mapping.Key, cmd provider.Command, started func()) error {
	id, err := p.Acquire(ctx, key)
	if err != nil {
		return err
	}
	sandbox, err := p.Get(id)
	if err != nil {
		return err
	}
	starter, ok := sandbox.(provider.Starter)
	if !ok {
		return errors.New("this provider cannot pass streams on")
	}
	recorded, done := record(c, starter, key, sandbox.ID())
	defer done()
	return attach(ctx, startHook{recorded, started}, cmd)
}

// startHook tells when a command has started.
type startHook struct {
	provider.Starter
	started func()
}

func (h startHook) Start(ctx context.Context, cmd provider.Command) (provider.Process, error) {
	process, err := h.Starter.Start(ctx, cmd)
	if err == nil {
		h.started()
	}
	return process, err
}
