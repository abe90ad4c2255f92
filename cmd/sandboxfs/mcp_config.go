//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/urfave/cli/v2"
)

// mcpClients are the programs for which a set-up can be printed.
var mcpClients = [...]string{"claude", "cursor", "codex"}

func mcpConfigCommand() *cli.Command {
	return &cli.Command{
		Name:      "config",
		Usage:     "print the set-up of an MCP client: claude, cursor or codex",
		ArgsUsage: "claude|cursor|codex",
		Description: "What the client's configuration file needs is printed on standard output, and where\n" +
			"that file is on standard error.",
		Flags:  append(mcpFlags(), configFlag()),
		Action: func(c *cli.Context) error { return printMCPConfig(c) },
	}
}

// mcpLaunch is how a client starts the server.
type mcpLaunch struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

func printMCPConfig(c *cli.Context) error {
	client := c.Args().First()
	if c.NArg() != 1 || !slices.Contains(mcpClients[:], client) {
		return usageError{"name a client: sandboxfs mcp config --thread THREAD " + strings.Join(mcpClients[:], "|")}
	}
	launch, name, err := mcpLaunchOf(c)
	if err != nil {
		return err
	}
	switch client {
	case "codex":
		cfg, err := settings(c)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "# add this to ~/.codex/config.toml")
		_, err = fmt.Print(codexConfig(name, launch, cfg.CommandTimeout))
		return err
	case "claude":
		fmt.Fprintln(os.Stderr, "# .mcp.json in the project's directory (Claude Code), or claude_desktop_config.json; or run:")
		fmt.Fprintln(os.Stderr, "#", claudeAdd(name, launch))
	case "cursor":
		fmt.Fprintln(os.Stderr, "# .cursor/mcp.json in the project's directory, or ~/.cursor/mcp.json")
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(map[string]any{"mcpServers": map[string]any{name: launch}})
}

// mcpLaunchOf makes the command of what was given here. Clients start servers
// with an environment of their own, so what of ours matters is written down.
func mcpLaunchOf(c *cli.Context) (launch mcpLaunch, name string, err error) {
	if c.String("thread") == "" {
		return launch, "", usageError{"name a thread: sandboxfs mcp config --thread THREAD " + c.Args().First()}
	}
	key, err := parseThread(c, c.String("thread"))
	if err != nil {
		return launch, "", err
	}
	program, err := os.Executable()
	if err != nil {
		return launch, "", err
	}
	launch = mcpLaunch{Command: program, Args: []string{"mcp", "--thread", key.Thread}, Env: map[string]string{}}
	if key.User != mapping.DefaultUser {
		launch.Args = append(launch.Args, "--user", key.User)
	}
	for _, flag := range []string{"provider", "net", "tier"} {
		if c.IsSet(flag) {
			launch.Args = append(launch.Args, "--"+flag, c.String(flag))
		}
	}
	if file := configFile(c); file != "" {
		launch.Args = append(launch.Args, "--config", file)
	}
	for _, pair := range c.StringSlice("env") {
		launch.Args = append(launch.Args, "--env", pair)
	}
	variables := []string{config.FileVariable, "SANDBOXFSD"}
	for _, k := range config.Keys() {
		if !k.Secret { // what is printed here ends up in files
			variables = append(variables, k.Env)
		}
	}
	for _, name := range variables {
		if value := os.Getenv(name); value != "" {
			launch.Env[name] = value
		}
	}
	return launch, "sandboxfs-" + key.Thread, nil
}

// claudeAdd is the command that adds the server to Claude Code.
func claudeAdd(name string, l mcpLaunch) string {
	words := []string{"claude", "mcp", "add", name}
	for _, k := range sortedKeys(l.Env) {
		words = append(words, "--env", shellWord(k+"="+l.Env[k]))
	}
	words = append(words, "--", shellWord(l.Command))
	for _, a := range l.Args {
		words = append(words, shellWord(a))
	}
	return strings.Join(words, " ")
}

// codexConfig is a table of its file. Codex gives up on a tool after a minute
// unless it is told otherwise.
func codexConfig(name string, l mcpLaunch, timeout time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\ncommand = %s\nargs = %s\n", name, tomlText(l.Command), tomlList(l.Args))
	if timeout <= 0 {
		timeout = time.Hour
	}
	fmt.Fprintf(&b, "tool_timeout_sec = %d\n", int((timeout + time.Minute).Seconds()))
	if len(l.Env) > 0 {
		fmt.Fprintf(&b, "\n[mcp_servers.%s.env]\n", name)
		for _, k := range sortedKeys(l.Env) {
			fmt.Fprintf(&b, "%s = %s\n", k, tomlText(l.Env[k]))
		}
	}
	return b.String()
}

// tomlText is a basic string of TOML; JSON's strings are among them.
func tomlText(s string) string {
	b, _ := json.Marshal(s) // a string can always be written
	return string(b)
}

func tomlList(list []string) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = tomlText(s)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// shellWord quotes a word where a shell would not take it as it is.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
