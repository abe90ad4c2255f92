//go:build linux

package main

import (
	"os"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

// interactiveShell starts bash without start-up files, or sh where there is
// no bash, with a prompt that says where one is.
const interactiveShell = `export PS1='\u@\h:\w\$ '
if command -v bash >/dev/null 2>&1; then exec bash --norc --noprofile -i; fi
PS1='$ ' exec sh -i`

// batchShell reads commands from standard input.
const batchShell = `if command -v bash >/dev/null 2>&1; then exec bash --norc --noprofile -s; fi
exec sh -s`

func shellCommand() *cli.Command {
	return &cli.Command{
		Name:      "shell",
		Category:  categoryRun,
		Usage:     "open a shell in a thread's sandbox",
		ArgsUsage: "THREAD",
		Description: "With a terminal the shell is interactive; from a pipe or a file it runs what it reads.\n" +
			"Exit status: as for exec.",
		Flags: append([]cli.Flag{userFlag(), providerFlag()}, newFlags()...),
		Action: func(c *cli.Context) error {
			if err := onlyThread(c); err != nil {
				return err
			}
			cmd := provider.Command{Argv: []string{"/bin/sh", "-c", batchShell}, Timeout: -1, Stdin: os.Stdin}
			if isTerminal(os.Stdin) {
				cmd.Argv[2], cmd.TTY = interactiveShell, newTTY()
			}
			return execute(c, cmd)
		},
	}
}
