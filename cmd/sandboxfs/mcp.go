//go:build linux

package main

import (
	"os"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/internal/mcp"
	"github.com/sandboxfs/sandboxfs/internal/version"
	"github.com/urfave/cli/v2"
)

func mcpCommand() *cli.Command {
	return &cli.Command{
		Name:      "mcp",
		Category:  categoryRun,
		Usage:     "serve the agent's tools of a thread over the Model Context Protocol, on standard input and output",
		ArgsUsage: "| sandboxfs mcp config claude|cursor|codex",
		Description: "An MCP client starts it; 'sandboxfs mcp config CLIENT --thread THREAD' prints how. The\n" +
			"sandbox is started by the first call of a tool. Calls are judged and recorded as an\n" +
			"agent's. It ends when the client closes standard input.",
		Flags:       mcpFlags(),
		Subcommands: []*cli.Command{mcpConfigCommand()},
		Action:      func(c *cli.Context) error { return serveMCP(c) },
	}
}

func mcpFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "thread", Usage: "the `thread` whose sandbox the tools work in; USER:THREAD says its owner too"},
		userFlag(), providerFlag(), toolEnvFlag(),
	}, newFlags()...)
}

func serveMCP(c *cli.Context) error {
	if c.Args().Present() {
		return usageError{"mcp takes no arguments; name the thread by --thread, or see: sandboxfs mcp --help"}
	}
	if c.String("thread") == "" {
		return usageError{"name a thread: sandboxfs mcp --thread THREAD"}
	}
	key, err := parseThread(c, c.String("thread"))
	if err != nil {
		return err
	}
	// Whatever else would print goes to standard error from here on.
	out := os.Stdout
	os.Stdout = os.Stderr
	set, done, err := openTools(c, key, audit.OriginMCP)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := interruptible(c.Context)
	defer cancel()
	server := mcp.NewServer(mcp.Options{Version: version.Get().Version, Tools: mcp.Fixed(set)})
	if err := mcp.Serve(ctx, server, os.Stdin, out); err != nil {
		return failure{err}
	}
	return nil
}
