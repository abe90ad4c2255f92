//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

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
	sandbox, err := find(c)
	switch {
	case errors.Is(err, provider.NotFound):
		return nil // no sandbox, no session
	case err != nil:
		return err
	}
	s, ok := sandbox.(provider.Sessioner)
	if !ok {
		return errors.New("sandboxes of this provider keep no sessions")
	}
	if names := c.StringSlice("close"); len(names) > 0 {
		return closeSessions(c, s, names)
	}
	infos, err := s.Sessions(c.Context)
	if err != nil {
		return err
	}
	t := newTable(os.Stdout, "SESSION", "STATE", "COMMANDS", "JOBS", "IDLE", "DIRECTORY")
	out := json.NewEncoder(os.Stdout)
	for _, i := range infos {
		if c.Bool("json") {
			if err := out.Encode(i); err != nil {
				return err
			}
			continue
		}
		idle := "-"
		if i.State == "ready" {
			idle = time.Duration(i.IdleSeconds * float64(time.Second)).Round(time.Second).String()
		}
		t.row(i.Name, i.State, i.Commands, i.Jobs, idle, i.Dir)
	}
	if c.Bool("json") {
		return nil
	}
	return t.flush()
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
			json.NewEncoder(os.Stdout).Encode(map[string]string{"session": name, "state": "closed"})
		}
	}
	return errors.Join(errs...)
}
