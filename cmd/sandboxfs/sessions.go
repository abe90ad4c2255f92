//go:build linux

package main

import (
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

func sessionsCommand() *cli.Command {
	return &cli.Command{
		Name:      "sessions",
		Category:  categorySandboxes,
		Usage:     "list or close the sessions of a thread",
		ArgsUsage: "THREAD",
		Description: "A session is a shell that keeps its state between commands: sandboxfs exec --session NAME\n" +
			"THREAD -- 'COMMANDS'. It lives until it is closed or its sandbox ends.",
		Flags: []cli.Flag{userFlag(), providerFlag(), jsonFlag(),
			&cli.StringSliceFlag{Name: "close", Usage: "end the session with this `NAME`, and all that runs in it; may be repeated"}},
		Action: func(c *cli.Context) error { return inJSON(c, sessions(c)) },
	}
}

func sessions(c *cli.Context) error {
	if err := onlyThread(c); err != nil {
		return err
	}
	names := c.StringSlice("close")
	sandbox, err := find(c)
	none := errors.Is(err, provider.NotFound) && len(names) == 0
	if none {
		err = checkThread(c)
	}
	if err != nil {
		return err
	}
	s, ok := sandbox.(provider.Sessioner)
	var infos []provider.SessionInfo
	switch {
	case none: // no sandbox, no session
	case !ok:
		err = errors.New("sandboxes of this provider keep no sessions")
	case len(names) > 0:
		return closeSessions(c, s, names)
	default:
		infos, err = s.Sessions(c.Context)
	}
	if err != nil {
		return err
	}
	header := []string{"SESSION", "STATE", "COMMANDS", "JOBS", "IDLE", "DIRECTORY"}
	return printRows(c, infos, header, func(i provider.SessionInfo) []any {
		idle := "-"
		if i.State == "ready" {
			idle = idleText(i.IdleSeconds)
		}
		return []any{i.Name, i.State, i.Commands, i.Jobs, idle, i.Dir}
	})
}

func closeSessions(c *cli.Context, s provider.Sessioner, names []string) error {
	var errs []error
	for _, name := range names {
		if !provider.IsSessionName(name) {
			return usageError{fmt.Sprintf("%q is not the name of a session: use 1 to 64 letters, digits, '_' and '-'", name)}
		}
		err := s.CloseSession(c.Context, name)
		errs = append(errs, err)
		if err == nil && c.Bool("json") {
			printJSON(c, map[string]string{"session": name, "state": "closed"})
		}
	}
	return errors.Join(errs...)
}
