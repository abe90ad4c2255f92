//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
	"github.com/urfave/cli/v2"
)

func toolCommand() *cli.Command {
	return &cli.Command{
		Name:      "tool",
		Category:  categoryRun,
		Usage:     "call one of an agent's tools: " + strings.Join(tool.Names(), ", "),
		ArgsUsage: "NAME THREAD 'ARGUMENTS'",
		Description: "ARGUMENTS are a JSON object, or - for one from standard input. The answer is the text\n" +
			"that a model gets; --json prints it with the typed result. The call is judged and\n" +
			"recorded as an agent's: a command that the audit blocks does not run.\n\n" +
			"    sandboxfs tool bash demo '{\"description\": \"look around\", \"command\": \"ls -la\"}'\n\n" +
			"--schema prints the specification of the tool, or of all, in place of a call.\n\n" +
			"Exit status: 0 for an answer, whatever the status of a command in it; 1 where the call\n" +
			"failed; 2 for wrong usage or arguments.",
		Flags: append([]cli.Flag{
			userFlag(), providerFlag(), jsonFlag(), toolEnvFlag(),
			&cli.BoolFlag{Name: "schema", Usage: "print what an agent is told of the tool: description and JSON schemas"},
		}, newFlags()...),
		Action: func(c *cli.Context) error { return inJSON(c, callTool(c)) },
	}
}

func toolEnvFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "set `KEY=VALUE` in every command, and redact the value from answers; KEY alone takes it from the environment"}
}

func callTool(c *cli.Context) error {
	name := c.Args().First()
	if c.Bool("schema") {
		return printSchemas(c, name)
	}
	if _, ok := tool.SpecOf(name); !ok {
		return usageError{fmt.Sprintf("there is no tool %q; there are %s", name, strings.Join(tool.Names(), ", "))}
	}
	if c.NArg() != 3 {
		return usageError{"name a tool, a thread and the arguments: sandboxfs tool [flags] " + name + ` THREAD '{"description": "why", ...}'`}
	}
	key, err := parseThread(c, c.Args().Get(1))
	if err != nil {
		return err
	}
	arguments := []byte(c.Args().Get(2))
	if string(arguments) == "-" {
		if arguments, err = io.ReadAll(io.LimitReader(os.Stdin, maxToolInput)); err != nil {
			return failure{fmt.Errorf("reading the arguments: %w", err)}
		}
	}
	set, done, err := openTools(c, key, audit.OriginTool)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := interruptible(c.Context)
	defer cancel()
	answer := set.Call(ctx, name, arguments)
	if c.Bool("json") {
		if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
			return err
		}
	} else if answer.IsError() {
		fmt.Fprintln(os.Stderr, printable(answer.Text))
	} else {
		fmt.Println(strings.TrimSuffix(answer.Text, "\n"))
	}
	switch {
	case !answer.IsError():
		return nil
	case provider.KindOf(answer.Err) == provider.Invalid:
		return exitStatus(2)
	}
	return exitStatus(1)
}

// maxToolInput bounds the arguments from standard input, in bytes.
const maxToolInput = 17 << 20

// openTools makes the tools of a thread as the settings have them. done ends
// the turn and closes the audit.
func openTools(c *cli.Context, key mapping.Key, origin string) (set *tool.Set, done func(), err error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, nil, err
	}
	env, err := toolEnv(c.StringSlice("env"))
	if err != nil {
		return nil, nil, err
	}
	p, err := open(c.Context, c)
	if err != nil {
		return nil, nil, err
	}
	gate, err := openGate(c)
	if err != nil {
		return nil, nil, err
	}
	turn := provider.NewTurn(p, key, provider.TurnOptions{})
	set, err = tool.New(turn, toolOptions(cfg, gate, origin, env))
	if err != nil {
		gate.Close()
		return nil, nil, err
	}
	return set, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context), releaseTime)
		defer cancel()
		if err := errors.Join(turn.After(ctx), gate.Close()); err != nil {
			report(err)
		}
	}, nil
}

// releaseTime bounds the end of a turn.
const releaseTime = 10 * time.Second

// toolOptions are what the settings say of the tools.
func toolOptions(cfg *config.Config, gate *audit.Gate, origin string, env map[string]string) tool.Options {
	limits := tool.DefaultLimits()
	limits.Bash, limits.ReadFile, limits.Ls = cfg.BashOutputMaxChars, cfg.ReadFileOutputMaxChars, cfg.LsOutputMaxChars
	o := tool.Options{
		Audit: gate, Origin: origin, Provider: cfg.Provider.Use, Limits: &limits, Timeout: cfg.CommandTimeout, Env: env,
	}
	if o.Provider == "" {
		o.Provider = provider.DefaultName
	}
	if o.Timeout == 0 {
		o.Timeout = -1
	}
	// The file says what is in every command; what of it is a secret is known
	// by its name.
	for name, value := range cfg.Provider.Environment {
		if tool.IsSecretName(name) {
			o.Redact = append(o.Redact, value)
		}
	}
	return o
}

// toolEnv reads KEY=VALUE, and KEY for a value that is not to be seen on a
// command line.
func toolEnv(pairs []string) (map[string]string, error) {
	for i, p := range pairs {
		if strings.Contains(p, "=") {
			continue
		}
		value, ok := os.LookupEnv(p)
		if !ok {
			return nil, usageError{fmt.Sprintf("-e %s: the environment has no such variable; set it, or write KEY=VALUE", p)}
		}
		pairs[i] = p + "=" + value
	}
	return envOf(pairs)
}

func printSchemas(c *cli.Context, name string) error {
	specs := tool.Specs()
	if name != "" {
		spec, ok := tool.SpecOf(name)
		if !ok {
			return usageError{fmt.Sprintf("there is no tool %q; there are %s", name, strings.Join(tool.Names(), ", "))}
		}
		specs = []tool.Spec{spec}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if !c.Bool("json") {
		out.SetIndent("", "  ")
	}
	for _, s := range specs {
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return nil
}
