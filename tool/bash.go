package tool

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// BashArguments are those of bash.
type BashArguments struct {
	Description string `json:"description"`
	Command     string `json:"command"`
	// Timeout is in seconds; 0 means that of the options.
	Timeout float64 `json:"timeout,omitempty"`
	// Session names a kept shell; empty means a shell for this command alone.
	Session string `json:"session,omitempty"`

	// Env is set for this command; its values are redacted from the answer.
	// A model cannot give it.
	Env map[string]string `json:"-"`
	// Progress is called now and then while the command runs, from one
	// goroutine.
	Progress func(Progress) `json:"-"`
}

// Progress says how far a command is.
type Progress struct {
	// Elapsed is the time since it was started.
	Elapsed time.Duration
	// Bytes is how much it has written.
	Bytes int64
	// Line is the last line that it has written, cut and redacted; it may be
	// empty.
	Line string
}

// BashResult is how a command ended, with what it wrote.
type BashResult struct {
	Output         string   `json:"output"`
	ExitCode       int      `json:"exit_code"`
	Signal         int      `json:"signal,omitempty"`
	TimedOut       bool     `json:"timed_out"`
	DurationMS     int64    `json:"duration_ms"`
	StdoutBytes    int64    `json:"stdout_bytes"`
	StderrBytes    int64    `json:"stderr_bytes"`
	Truncated      bool     `json:"truncated"`
	OutputFile     string   `json:"output_file,omitempty"`
	LeftoversEnded int      `json:"leftovers_ended"`
	Session        string   `json:"session,omitempty"`
	SessionChange  string   `json:"session_change,omitempty"`
	Warning        *Warning `json:"warning,omitempty"`

	text string
}

// Text implements [Result].
func (r *BashResult) Text() string { return r.text }

// Bash runs a command. A command that ran is no error, whatever its status.
// Kinds: denied (by the audit: a [*DeniedError]), invalid, unavailable, and
// those of acquiring the sandbox.
func (s *Set) Bash(ctx context.Context, a BashArguments) (*BashResult, error) {
	if err := described(NameBash, a.Description); err != nil {
		return nil, err
	}
	call := audit.Call{Tool: NameBash, Session: a.Session, Description: a.Description, Command: a.Command}
	if a.Session != "" && !provider.IsSessionName(a.Session) {
		return nil, invalid(NameBash, "session is not a name of 1 to 64 letters, digits, '_' and '-'", "choose such a name, or leave session out")
	}
	timeout, err := s.timeout(a.Timeout)
	if err != nil {
		return nil, err
	}
	if a.Command == "" || strings.ContainsRune(a.Command, 0) {
		return nil, s.refuseCommand(ctx, call)
	}
	sandbox, pass, err := s.begin(ctx, call)
	if err != nil {
		return nil, err
	}
	env := maps.Clone(s.env)
	maps.Copy(env, a.Env)
	cmd := provider.Command{Script: a.Command, Session: a.Session, Timeout: timeout, Env: env}
	secrets := s.secrets(a.Env)
	started := time.Now()
	var out, errs collector
	stop := s.report(a.Progress, started, &out, &errs, secrets)
	res, err := run(ctx, sandbox, cmd, &out, &errs)
	stop()
	if err != nil {
		pass.failed(ctx, err)
		return nil, err
	}
	stdout, stderr := out.result(), errs.result()
	stdout.redact(secrets)
	stderr.redact(secrets)
	answer := s.bashAnswer(ctx, sandbox, a, timeout, res, stdout, stderr, pass.warning)
	// What the record says is what was written, and whether all of it was
	// answered.
	ended := *res
	ended.Stdout, ended.Stderr = provider.Output{Omitted: stdout.total + stderr.total}, provider.Output{}
	live := int64(0)
	if !answer.Truncated {
		ended.Stdout.Omitted, live = 0, stdout.total+stderr.total
	}
	pass.ended(ctx, &ended, live)
	return answer, nil
}

// timeout checks what an agent asks for.
func (s *Set) timeout(seconds float64) (time.Duration, error) {
	if seconds == 0 {
		return s.o.Timeout, nil
	}
	if seconds < 0 || math.IsNaN(seconds) || seconds > s.o.MaxTimeout.Seconds() {
		return 0, invalid(NameBash, fmt.Sprintf("timeout must be more than 0 and at most %s seconds", number(s.o.MaxTimeout.Seconds())),
			"give fewer seconds; what must run longer can be started in the background of a session")
	}
	return max(time.Duration(seconds*float64(time.Second)), time.Millisecond), nil
}

// refuseCommand records a command that cannot run, and says why.
func (s *Set) refuseCommand(ctx context.Context, c audit.Call) error {
	pass, err := s.admit(ctx, c)
	if err != nil {
		return err
	}
	err = invalid(NameBash, "command is empty or has a NUL character", "give a command as a string")
	pass.failed(ctx, err)
	return err
}

// secrets are the values to be redacted from what one command answers.
func (s *Set) secrets(env map[string]string) redactor {
	var values []string
	for _, m := range []map[string]string{s.o.Env, env} {
		for _, v := range m {
			values = append(values, v)
		}
	}
	return newRedactor(append(values, s.o.Redact...)...)
}

// run runs a command to its end, with live streams where the sandbox has them.
func run(ctx context.Context, sandbox provider.Sandbox, cmd provider.Command, out, errs *collector) (*provider.Result, error) {
	if starter, ok := sandbox.(provider.Starter); ok {
		cmd.Stdout, cmd.Stderr = out, errs
		p, err := starter.Start(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return p.Wait()
	}
	cmd.MaxOutput = 2 * keptStream
	res, err := sandbox.Execute(ctx, cmd)
	if err != nil {
		return nil, err
	}
	out.take(res.Stdout)
	errs.take(res.Stderr)
	return res, nil
}

// take fills a collector with a stream that was captured elsewhere.
func (c *collector) take(o provider.Output) {
	if o.Omitted == 0 {
		_, _ = c.Write(o.Head)
		return
	}
	c.head, c.tail = o.Head, o.Tail
	c.total = int64(len(o.Head)+len(o.Tail)) + o.Omitted
	// Bytes are all that is known of the rest.
	c.chars = int64(starts(o.Head)+starts(o.Tail)) + o.Omitted
}

// report calls back until it is stopped.
func (s *Set) report(to func(Progress), started time.Time, out, errs *collector, secrets redactor) (stop func()) {
	if to == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(s.progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			a, line := out.progress()
			b, other := errs.progress()
			if line == "" {
				line = other
			}
			to(Progress{Elapsed: time.Since(started), Bytes: a + b, Line: secrets.text(line)})
		}
	}()
	return func() { close(done); <-ended }
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
