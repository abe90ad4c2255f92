package escape

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// sessionName is the session of every case that has one.
const sessionName = "case"

// inSession runs a text in the trial's session.
func (r *trial) inSession(text string, flags ...string) Outcome {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	args := append([]string{"exec", "--net", "none", "--max-output", fmt.Sprint(maxOutput), "--session", sessionName}, flags...)
	o, err := r.cli(ctx, nil, append(args, r.thread, "--", text)...)
	if err != nil || ctx.Err() != nil {
		r.t.Fatalf("the command line ended with %v\n%s", err, shorten(o.Combined()))
	}
	return o
}

// nextCommands runs what a case wants to be run afterwards in the same session,
// and looks at what comes of it.
func (r *trial) nextCommands(c Case) {
	r.t.Helper()
	for _, e := range c.Expect {
		switch e.Kind {
		case Next:
			o := r.inSession(e.Text)
			r.t.Logf("next %q: status %d after %v\n%s", e.Text, o.Code, o.Took.Round(time.Millisecond), shorten(o.Combined()))
			if o.Code != 0 {
				r.t.Errorf("next %q: status %d", e.Text, o.Code)
			}
			if e.Pattern != nil {
				if err := o.Check(Expectation{Kind: Matches, Pattern: e.Pattern}, r.slack); err != nil {
					r.t.Errorf("next %q: %v", e.Text, err)
				}
			}
			if within, ok := c.Find(Within); ok {
				if err := o.Check(within, r.slack); err != nil {
					r.t.Errorf("next %q: %v", e.Text, err)
				}
			}
		case Words:
			r.twoAtOnce(c)
		}
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if o, err := r.cli(ctx, nil, "sessions", "--close", sessionName, r.thread); err != nil || o.Code != 0 {
		r.t.Errorf("close the session: status %d, %v\n%s", o.Code, err, o.Combined())
	}
}

// twoAtOnce runs the snippet twice at once, which takes as long as one after
// the other and mixes nothing.
func (r *trial) twoAtOnce(c Case) {
	r.t.Helper()
	alone := r.inSession(c.Snippet)
	began := time.Now()
	var both [2]Outcome
	var work sync.WaitGroup
	for i := range both {
		work.Go(func() { both[i] = r.inSession(c.Snippet) })
	}
	work.Wait()
	const sleeps = 2 * time.Second // in both snippets
	if took := time.Since(began); took < sleeps {
		r.t.Errorf("both ended after %v: they ran at the same time", took)
	}
	for i, o := range both {
		if !bytes.Equal(o.Stdout, alone.Stdout) || o.Code != alone.Code {
			r.t.Errorf("call %d: want what one alone answers, %q, got status %d, %q", i, alone.Stdout, o.Code, o.Stdout)
		}
	}
}

// toldOfShell holds where the caller was told what happened to the shell.
func toldOfShell(_ *trial, o Outcome) error {
	if !strings.Contains(string(o.Stderr), "sandboxfs: session "+sessionName+": ") || !strings.Contains(string(o.Stderr), "shell") {
		return fmt.Errorf("nothing is said of the session: %q", o.Stderr)
	}
	return nil
}

// statusParsed holds where a status still comes through.
func statusParsed(r *trial, _ Outcome) error {
	if o := r.inSession("exit_with() { return 7; }; exit_with"); o.Code != 7 {
		return fmt.Errorf("want status 7, got %d: %s", o.Code, o.Combined())
	}
	return nil
}

// A row of a session must be one that the harness runs in one.
func TestSessionRowsAreRun(t *testing.T) {
	n := 0
	for _, c := range readCases(t) {
		if _, ok := c.Find(Session); ok {
			n++
			if isLater(c) {
				t.Errorf("%s is left out", c.ID)
			}
		}
	}
	if n == 0 {
		t.Error("no row has a session")
	}
}
