//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/urfave/cli/v2"
)

func auditCommand() *cli.Command {
	return &cli.Command{
		Name:     "audit",
		Category: categorySandboxes,
		Usage:    "judge a command, read the log of commands, check that nobody changed it",
		Description: "Every command that comes from an agent is judged and recorded before it runs; a person's\n" +
			"is recorded. The log is in the data directory. docs/AUDIT.md says what it proves.",
		Subcommands: []*cli.Command{
			{Name: "check", Usage: "say how a command is judged, and why", ArgsUsage: "COMMAND",
				Description: "COMMAND is one argument, or - to read it from standard input.\n\n" +
					"Exit status: 0 pass or warn, 1 block, 2 wrong usage.",
				Flags: []cli.Flag{jsonFlag(), configFlag()}, Action: func(c *cli.Context) error { return inJSON(c, auditCheck(c)) }},
			{Name: "log", Usage: "print the records",
				Flags: []cli.Flag{jsonFlag(), configFlag(),
					&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "wait for more"},
					&cli.StringFlag{Name: "thread", Usage: "only those of this `thread`, or USER:THREAD"},
					&cli.StringFlag{Name: "since", Usage: "only those since a `time` (RFC 3339), or a duration ago such as 1h"},
					&cli.BoolFlag{Name: "denied", Usage: "only commands that were blocked"}},
				Action: func(c *cli.Context) error { return inJSON(c, auditLog(c)) }},
			{Name: "verify", Usage: "find records that were changed, removed, moved or put in",
				Description: "Exit status: 0 the log is whole, 1 it is not, or cannot be read.",
				Flags:       []cli.Flag{jsonFlag(), configFlag()}, Action: func(c *cli.Context) error { return inJSON(c, auditVerify(c)) }},
			{Name: "rules", Usage: "list the rules that hold, with the file's changes",
				Flags: []cli.Flag{jsonFlag(), configFlag()}, Action: func(c *cli.Context) error { return inJSON(c, auditRules(c)) }},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError{fmt.Sprintf("there is no %q below audit; there are check, log, verify and rules", c.Args().First())}
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

func rulesOf(c *cli.Context) (*audit.RulesFile, error) {
	a, err := auditOf(c)
	if err != nil {
		return nil, err
	}
	return a.OpenRules()
}

// auditOf is the audit that is configured.
func auditOf(c *cli.Context) (audit.Config, error) {
	cfg, err := settings(c)
	if err != nil {
		return audit.Config{}, err
	}
	return auditConfig(cfg)
}

func auditCheck(c *cli.Context) error {
	if c.NArg() != 1 {
		return usageError{"give the command as one argument: sandboxfs audit check 'COMMAND'"}
	}
	command := c.Args().First()
	if command == "-" {
		text, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
		if err != nil {
			return err
		}
		command = string(text)
	}
	file, err := rulesOf(c)
	if err != nil {
		return err
	}
	classifier, err := file.Classifier()
	if err != nil {
		return err
	}
	j := classifier.Judge(command)
	switch {
	case c.Bool("json"):
		if err := printJSON(c, j); err != nil {
			return err
		}
	case len(j.Findings) == 0:
		fmt.Fprintln(c.App.Writer, j.Verdict)
	default:
		for _, f := range j.Findings {
			fmt.Fprintf(c.App.Writer, "%v  %s: %s\n", f.Verdict, f.Rule, f.Reason)
			if f.Part != "" {
				fmt.Fprintf(c.App.Writer, "       %s\n", strings.ReplaceAll(f.Part, "\n", "\n       "))
			}
		}
	}
	if j.Verdict == audit.Block {
		return exitStatus(1)
	}
	return nil
}

func auditRules(c *cli.Context) error {
	file, err := rulesOf(c)
	if err != nil {
		return err
	}
	rules := file.Rules()
	return printRows(c, rules, []string{"RULE", "VERDICT", "REASON"}, func(r audit.RuleInfo) []any { return []any{r.ID, r.Verdict, r.Reason} })
}

func auditVerify(c *cli.Context) error {
	a, err := auditOf(c)
	if err != nil {
		return err
	}
	report, err := audit.Verify(c.Context, a.Dir)
	if errors.Is(err, audit.ErrNoLog) {
		return errors.New("there is no log yet; it begins with the first command")
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		if report.Problems == nil {
			report.Problems = []audit.Problem{}
		}
		if err := printJSON(c, report); err != nil {
			return err
		}
	} else {
		for _, p := range report.Problems {
			fmt.Fprintln(c.App.Writer, p)
		}
		what := "the log is whole"
		if len(report.Problems) > 0 {
			what = "the log is NOT whole"
		}
		fmt.Fprintf(c.App.Writer, "%s: records %d to %d in %d files\n", what, report.First, report.Last, report.Segments)
		if report.Removed > 0 {
			fmt.Fprintf(c.App.Writer, "records up to %d were removed by age or size\n", report.Removed)
		}
	}
	if len(report.Problems) > 0 {
		return exitStatus(1)
	}
	return nil
}

// sinceOf reads a time, or how long ago it is.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usageError{fmt.Sprintf("--since %s: give a time such as %s, or how long ago, such as 1h", text, now.Format(time.RFC3339))}
}

// wanted says which records are printed. An end is, if its start was.
type wanted struct {
	user, thread string
	since        time.Time
	denied       bool
	calls        map[string]bool
}

func (w *wanted) takes(r audit.Record) bool {
	switch r.Type {
	case audit.TypeStart:
		if w.thread != "" && (r.Thread != w.thread || r.User != w.user) || r.Time.Before(w.since) || w.denied && !r.Blocked {
			return false
		}
		if !r.Blocked {
			w.calls[r.Call] = true
		}
		return true
	case audit.TypeEnd:
		had := w.calls[r.Call]
		delete(w.calls, r.Call)
		return had
	}
	return w.thread == "" && !w.denied && r.Type != audit.TypeSegment && !r.Time.Before(w.since)
}

func auditLog(c *cli.Context) error {
	if c.Args().Present() {
		return strayArgument(c, c.Args().First())
	}
	a, err := auditOf(c)
	if err != nil {
		return err
	}
	w := &wanted{denied: c.Bool("denied"), calls: map[string]bool{}}
	if w.since, err = sinceOf(c.String("since"), time.Now()); err != nil {
		return err
	}
	if c.IsSet("thread") {
		key, err := parseThread(c, c.String("thread"))
		if err != nil {
			return err
		}
		w.user, w.thread = key.User, key.Thread
	}
	r, err := audit.OpenReader(a.Dir)
	if errors.Is(err, iofs.ErrNotExist) {
		if c.Bool("follow") {
			return errors.New("there is no log yet; it begins with the first command")
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		record, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && !c.Bool("follow"):
			return nil
		case errors.Is(err, io.EOF):
			if err := r.Wait(c.Context); err != nil {
				return nilIfEnded(err)
			}
		case err != nil:
			fmt.Fprintln(os.Stderr, "sandboxfs: warning:", err)
		case w.takes(record):
			if err := printRecord(c, record); err != nil {
				return err
			}
		}
	}
}

func nilIfEnded(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func printRecord(c *cli.Context, r audit.Record) error {
	if c.Bool("json") {
		return printJSON(c, r)
	}
	at := r.Time.Local().Format(time.DateTime)
	var err error
	switch r.Type {
	case audit.TypeStart:
		what := r.Command
		switch {
		case len(r.Argv) > 0:
			what = strings.Join(r.Argv, " ")
		case r.Path != "":
			what = strings.TrimSpace(r.Path + " " + r.Arguments)
		}
		verdict := "pass"
		if r.Verdict != nil {
			verdict = r.Verdict.String()
		}
		if r.Blocked {
			verdict = "BLOCKED"
		}
		rule := ""
		if r.Rule != "" {
			rule = " [" + r.Rule + "]"
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s %s start %s:%s %s %s%s %q\n", at, r.Call[:min(8, len(r.Call))], r.User, r.Thread, r.Tool, verdict, rule, what)
	case audit.TypeEnd:
		how := "done"
		switch {
		case r.Error != "":
			how = fmt.Sprintf("%q", r.Error)
		case r.Exit != nil:
			how = fmt.Sprintf("exit %d", *r.Exit)
		}
		if r.TimedOut {
			how += " (timeout)"
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s %s end   %s, %d ms, %d bytes\n", at, r.Call[:min(8, len(r.Call))], how, r.Millis, r.Bytes)
	default:
		_, err = fmt.Fprintf(c.App.Writer, "%s %s\n", at, r.Type)
	}
	return err
}
