//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
	"github.com/urfave/cli/v2"
)

// Words of the answer that stand for files of this machine.
const (
	anyFiles = ":files"
	anyDirs  = ":dirs"
)

// completeTime bounds an answer: somebody waits at a keyboard.
const completeTime = 2 * time.Second

// completion is one question: what can the last of the words be?
type completion struct {
	verbs []*cli.Command
	// cur is the word that is being written.
	cur string
	// user is what --user says, and config what --config does.
	user, config string
	// before are the words before cur that are no flags, from the verb on.
	before []string
	// command is the verb, once it is there.
	command *cli.Command
	// flag is the one whose value cur is.
	flag string
	// onlyNames is set behind "--".
	onlyNames bool
}

// complete answers a completion script. It starts nothing and complains of
// nothing.
func complete(ctx context.Context, out io.Writer, verbs []*cli.Command, words []string) {
	defer func() { _ = recover() }() // no answer is better than a stack trace in a prompt
	if len(words) == 0 {
		words = []string{""}
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	c := &completion{verbs: verbs, cur: words[len(words)-1]}
	c.read(words[:len(words)-1])
	prefix := ""
	if name, value, ok := strings.Cut(c.cur, "="); ok && c.flag == "" && strings.HasPrefix(name, "--") {
		prefix, c.flag, c.cur = name+"=", strings.TrimLeft(name, "-"), value
	}
	for _, candidate := range c.candidates(ctx) {
		if candidate == anyFiles || candidate == anyDirs {
			fmt.Fprintln(out, candidate)
		} else if strings.HasPrefix(candidate, c.cur) && strings.IndexFunc(candidate, unicode.IsControl) < 0 {
			fmt.Fprintln(out, prefix+candidate)
		}
	}
}

// read goes through the words before the last one.
func (c *completion) read(words []string) {
	for _, word := range words {
		switch {
		case c.flag != "":
			c.set(word)
			c.flag = ""
		case c.onlyNames || !strings.HasPrefix(word, "-") || word == "-":
			c.before = append(c.before, word)
			if c.command == nil {
				c.command = commandNamed(c.verbs, word)
			} else if sub := commandNamed(c.command.Subcommands, word); sub != nil && len(c.before) == 2 {
				c.command = sub
			}
		case word == "--":
			c.onlyNames = true
		default:
			name, value, inWord := strings.Cut(strings.TrimLeft(word, "-"), "=")
			if c.flag = name; inWord {
				c.set(value)
			}
			if inWord || !c.takesValue(name) {
				c.flag = ""
			}
		}
	}
}

func (c *completion) set(value string) {
	switch c.flag {
	case "user":
		c.user = value
	case "config":
		c.config = value
	}
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, command := range commands {
		if command.HasName(name) {
			return command
		}
	}
	return nil
}

func (c *completion) flags() []cli.Flag {
	if c.command == nil {
		return []cli.Flag{configFlag(), cli.HelpFlag}
	}
	return append(slices.Clone(c.command.Flags), cli.HelpFlag)
}

func (c *completion) takesValue(name string) bool {
	for _, f := range c.flags() {
		if doc, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return doc.TakesValue()
		}
	}
	return false
}

// flagValues are the values of flags that have a few.
var flagValues = map[string][]string{
	"net": {provider.NetHost, provider.NetNone}, "tier": {provider.TierIsolated, provider.TierHost},
	"view": {provider.ViewOperator, provider.ViewAgent}, "ownership": {provider.OwnershipOwner, provider.OwnershipPreserve},
	"workdir": {mapping.Workspace, mapping.Uploads, mapping.Outputs}, "C": {mapping.Workspace, mapping.Uploads, mapping.Outputs},
	"config": {anyFiles}, "timeout": {"30s", "10m", "1h", "0"}, "max-output": {"10k", "1M", "0"},
}

func (c *completion) candidates(ctx context.Context) []string {
	switch {
	case c.flag == "user":
		return c.users()
	case c.flag == "thread":
		return c.threads()
	case c.flag == "provider":
		return provider.Names()
	case c.flag != "":
		return flagValues[c.flag]
	case strings.HasPrefix(c.cur, "-") && !c.onlyNames && !c.inCommand():
		return c.flagNames()
	case c.command == nil && len(c.before) > 0 && c.before[0] != "help":
		return nil
	case c.command == nil || len(c.before) == 1 && c.before[0] == "help":
		return append(names(c.verbs), "help")
	}
	return append(c.arguments(ctx), names(c.command.Subcommands)...)
}

// inCommand is behind the thread of exec, where words are the command's.
func (c *completion) inCommand() bool {
	return c.command != nil && (c.command.Name == "exec" && len(c.before) > 1 || c.command.Name == "run" && len(c.before) > 1)
}

func names(commands []*cli.Command) []string {
	var all []string
	for _, command := range commands {
		if !command.Hidden && command.Name != "help" {
			all = append(all, command.Name)
		}
	}
	return all
}

func (c *completion) flagNames() []string {
	var all []string
	for _, f := range c.flags() {
		for _, name := range f.Names() {
			if len(name) > 1 {
				all = append(all, "--"+name)
			}
		}
	}
	sort.Strings(all)
	return slices.Compact(all)
}

// arguments are the candidates for a verb's next argument.
func (c *completion) arguments(ctx context.Context) []string {
	first := len(c.before) == 1
	switch c.command.Name {
	case "exec", "shell", "stop", "jobs", "sessions", "doctor":
		if first {
			return c.threads()
		}
	case "tool":
		switch len(c.before) {
		case 1:
			return tool.Names()
		case 2:
			return c.threads()
		}
	case "config":
		if c.before[0] == "mcp" && len(c.before) == 2 {
			return mcpClients[:]
		}
	case "rm":
		return c.threads()
	case "mount":
		if first {
			return c.threads()
		}
		return []string{anyDirs}
	case "umount":
		return append(c.threads(), anyDirs)
	case "cp":
		return c.places(ctx)
	case "init":
		return []string{anyFiles}
	case "completion":
		return []string{"bash", "fish", "zsh"}
	}
	return nil
}

// places are the candidates of cp: files of this machine, threads, and what
// lies in a thread.
func (c *completion) places(ctx context.Context) []string {
	before, _, inThread := strings.Cut(c.cur, ":")
	if !inThread || strings.Contains(before, "/") {
		all := []string{anyFiles}
		for _, name := range c.threads() {
			all = append(all, name+":")
		}
		return all
	}
	colon := strings.Index(c.cur, ":")
	if next := strings.Index(c.cur[colon+1:], ":"); next >= 0 && mapping.ValidateID("thread", c.cur[colon+1:colon+1+next]) == nil {
		colon += 1 + next
	}
	key := c.key(c.cur[:colon])
	dir, _ := path.Split(c.cur[colon+1:])
	virtual := dir
	if !path.IsAbs(dir) {
		virtual = mapping.UserData + "/" + dir
	}
	all := c.list(ctx, key, path.Clean(virtual), c.cur[:colon+1]+dir)
	for _, name := range c.threads() { // "alice:" may be a user's thread too
		all = append(all, name+":")
	}
	return all
}

func (c *completion) key(name string) mapping.Key {
	if user, thread, ok := strings.Cut(name, ":"); ok {
		return mapping.Key{User: user, Thread: thread}
	}
	return mapping.Key{User: c.user, Thread: name}.Normalize()
}
