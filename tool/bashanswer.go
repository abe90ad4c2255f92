package tool

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/provider"
)

// stderrHeading stands between what a command wrote to standard output and
// what it wrote to standard error.
const stderrHeading = "Std Error:\n"

// bashAnswer puts an answer together: what was written, then what is to be
// said of it, the whole within the limit.
func (s *Set) bashAnswer(ctx context.Context, sandbox provider.Sandbox, a BashArguments, timeout time.Duration, res *provider.Result, stdout, stderr stream, warning *Warning) *BashResult {
	r := &BashResult{
		ExitCode: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, DurationMS: res.Duration.Milliseconds(),
		StdoutBytes: stdout.total, StderrBytes: stderr.total, LeftoversEnded: res.LeftRunning, Session: a.Session, Warning: warning,
	}
	notes := s.bashNotes(r, timeout, res, stdout.broken+stderr.broken)
	body := joined(stdout, stderr, bashMarker)
	gap := stdout.gap + stderr.gap
	limit := s.o.Limits.Bash
	r.Truncated = gap > 0 || limit > 0 && utf8.RuneCountInString(body)+utf8.RuneCountInString(notes) > limit
	if r.Truncated {
		var note string
		r.OutputFile, note = s.keepOutput(ctx, sandbox, body, gap > 0)
		notes += note
		if limit > 0 {
			// What is missing already is counted once, in the one marker.
			if plain := joined(stdout, stderr, ""); utf8.RuneCountInString(body) > limit {
				body, _ = middle(plain, max(limit-utf8.RuneCountInString(notes), 1), gap, bashMarker)
			} else {
				body, _ = middle(body, max(limit-utf8.RuneCountInString(notes), 1), 0, bashMarker)
			}
		}
	}
	r.Output = body
	if body == "" {
		body = "(no output)"
	}
	if notes != "" && !strings.HasSuffix(body, "\n") {
		notes = "\n" + notes
	}
	r.text = strings.TrimSuffix(body+notes, "\n")
	if notes == "" {
		r.text = body
	}
	if limit > 0 { // where the notes alone are longer
		r.text, _ = middle(r.text, limit, 0, "")
	}
	return r
}

// joined is all that was written. gap is the text for what is missing.
func joined(stdout, stderr stream, gap string) string {
	var b strings.Builder
	add := func(s stream) {
		b.WriteString(s.head)
		if s.gap > 0 && gap != "" {
			fmt.Fprintf(&b, gap, s.gap)
		}
		b.WriteString(s.tail)
	}
	add(stdout)
	if stderr.total == 0 {
		return b.String()
	}
	if stdout.total > 0 {
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(stderrHeading)
	}
	add(stderr)
	return b.String()
}

// bashNotes are lines about the command, each with its end.
func (s *Set) bashNotes(r *BashResult, timeout time.Duration, res *provider.Result, broken int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch {
	case res.TimedOut:
		line("Command timed out after %s and was ended with everything it had started. Give a longer timeout, or start what must keep running in the background of a session.", duration(timeout))
	case res.Signal != 0:
		line("Exit Code: %d (ended by signal %d)", res.ExitCode, res.Signal)
	case res.ExitCode != 0:
		line("Exit Code: %d", res.ExitCode)
	}
	if n := res.LeftRunning; n > 0 && !res.TimedOut {
		line("Note: %s that the command had left running %s ended with it. To keep something running, start it in the background of a session (argument session).", count(n, "process", "processes"), was(n))
	}
	if c := res.Session; c != nil {
		r.SessionChange = c.Reason
		if len(c.Lost) > 0 {
			r.SessionChange += "; lost: " + strings.Join(c.Lost, ", ")
		}
		line("Note: session %s: %s.", r.Session, r.SessionChange)
	}
	if broken > 0 {
		line("Note: %s of the output %s not UTF-8 and shown as \uFFFD.", count(broken, "byte", "bytes"), is(broken))
	}
	if w := r.Warning; w != nil {
		line("Warning: %s (rule %s)%s. The command ran.", w.Reason, w.Rule, about(w.Part))
	}
	return b.String()
}

func about(part string) string {
	if part == "" {
		return ""
	}
	return ", because of `" + part + "`"
}

// duration writes a time as people say it: 1 second, 1.5 seconds.
func duration(d time.Duration) string {
	text := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if text == "1" {
		return "1 second"
	}
	return text + " seconds"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
