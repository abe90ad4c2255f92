package audit

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Gate is what every command passes on its way to a sandbox: it is judged, the
// record of its start is written, and then it may run. It is safe for
// concurrent use.
type Gate struct {
	o     GateOptions
	close func() error
}

// GateOptions are what a gate works with. Whoever made Log closes it.
type GateOptions struct {
	// Rules give the classifier; required.
	Rules *RulesFile
	// Log takes the records; required.
	Log Appender
	// Required says what happens when a record cannot be written.
	Required Required
}

// Required says what happens when a record cannot be written.
type Required int

const (
	// RecordFirst keeps an agent's command from running.
	RecordFirst Required = iota
	// RecordIfPossible lets it run. It is for who would rather lose a record
	// than a command.
	RecordIfPossible
)

// Appender takes records; [Log] is one.
type Appender interface {
	Append(ctx context.Context, r Record) error
}

// NewGate makes a gate.
func NewGate(o GateOptions) *Gate { return &Gate{o: o} }

// Call is a command on its way.
type Call struct {
	Key      mapping.Key
	Sandbox  string
	Provider string
	// Origin is one of the constants OriginTool and so on.
	Origin string
	// Tool is the agent's tool, or the verb of the command line.
	Tool        string
	Session     string
	Description string
	// Command is the script, or empty where Argv is given.
	Command string
	Argv    []string
	// Path is the virtual path of a call that runs no command but reads or
	// changes files. Such a call is recorded and always passes: the filesystem
	// says what it may do.
	Path string
	// Arguments are what else it was given, in short, such as a pattern.
	Arguments string
}

// runs reports whether the call is a command.
func (c Call) runs() bool { return c.Path == "" || c.Command != "" || len(c.Argv) > 0 }

// Entry is a command that passed. Exactly one of End, Done and Fail is called when
// it has ended.
type Entry struct {
	gate  *Gate
	call  string
	begun time.Time
	// Judgement is what was thought of the command. With Warn the agent is told.
	Judgement Judgement
	// Unrecorded is why there is no record, where that does not matter.
	Unrecorded error
}

// Begin judges a command and writes the record of its start. An error of the
// kind denied says that the command must not run and why; unavailable, that
// the record could not be written. A person's command is never denied, and
// runs without a record where none can be written.
func (g *Gate) Begin(ctx context.Context, c Call) (*Entry, error) {
	classifier, rulesErr := g.o.Rules.Classifier()
	e := &Entry{gate: g, call: NewCall(), begun: time.Now()}
	if c.runs() {
		e.Judgement = classifier.Judge(c.text())
	}
	blocked := e.Judgement.Verdict == Block && c.Origin != OriginPerson
	r := start(c, e.Judgement)
	r.Call, r.Blocked = e.call, blocked
	if rulesErr != nil {
		r.Error = "the rules file was not read, the rules before hold: " + rulesErr.Error()
	}
	err := g.o.Log.Append(ctx, r)
	if rulesErr != nil && !blocked && c.Origin != OriginPerson && !g.o.Rules.usable() {
		return nil, &provider.Error{Kind: provider.Unavailable, Op: c.op(), Thread: c.Key.String(), Err: rulesErr,
			Reason: "the rules about commands cannot be read, so nothing was run: " + strings.TrimPrefix(oneLine(rulesErr.Error()), "audit: "),
			Next:   "mend the file of rules (audit.rules, else audit/rules.yaml in the data directory); `sandboxfs audit check` says whether it is right"}
	}
	switch {
	case blocked:
		return e, denied(c, e.Judgement)
	case err != nil && c.Origin != OriginPerson && g.o.Required == RecordFirst:
		return nil, &provider.Error{Kind: provider.Unavailable, Op: c.op(), Thread: c.Key.String(), Err: err,
			Reason: "the audit log cannot be written, so the command was not run",
			Next:   "make room on the disk of the data directory and see that its audit directory can be written"}
	}
	e.Unrecorded = err
	return e, nil
}

// Blocks reports whether a call would be blocked, and records nothing: it is
// for who would make something for the call first.
func (g *Gate) Blocks(c Call) bool {
	if c.Origin == OriginPerson || !c.runs() {
		return false
	}
	classifier, _ := g.o.Rules.Classifier()
	return classifier.Judge(c.text()).Verdict == Block
}

// text is the command as a shell would read it.
func (c Call) text() string {
	if len(c.Argv) > 0 {
		return quoted(c.Argv)
	}
	return c.Command
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (c Call) op() string {
	if c.Tool != "" {
		return c.Tool
	}
	return "execute"
}

func denied(c Call, j Judgement) error {
	return &provider.Error{Kind: provider.Denied, Op: c.op(), Thread: c.Key.String(),
		Reason: "command blocked: " + j.Reason + " [" + j.Rule + "]", Next: advice(j)}
}

func advice(j Judgement) string {
	switch j.Rule {
	case RuleEmpty, RuleTooLong, RuleNUL:
		return ""
	}
	if j.Part == "" {
		return "do it in another way"
	}
	return "the part `" + j.Part + "` is not allowed; do it in another way"
}

func start(c Call, j Judgement) Record {
	v := j.Verdict
	r := Record{
		Type: TypeStart, Thread: c.Key.Thread, User: c.Key.User, Sandbox: c.Sandbox, Provider: c.Provider,
		Origin: c.Origin, Tool: c.Tool, Session: c.Session, Description: cut(c.Description, RecordedText),
		Verdict: &v, Rule: j.Rule, Reason: j.Reason, Part: j.Part, Unparsed: j.Unparsed,
	}
	r.Path, r.Arguments = cut(c.Path, RecordedText), cut(c.Arguments, RecordedText)
	r.Command = cut(c.Command, RecordedCommand)
	r.Cut = len(r.Command) < len(c.Command)
	total := 0
	for _, a := range c.Argv {
		short := cut(a, max(RecordedCommand-total, 0))
		r.Argv = append(r.Argv, short)
		if total += len(short) + argumentCost; len(short) < len(a) || total > RecordedCommand {
			r.Cut = true
			break
		}
	}
	return r
}

// argumentCost is what an argument takes in a record beside its text.
const argumentCost = 8

// cut shortens a text to a number of bytes at the border of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// quoted writes a program and its arguments as a shell would read them.
func quoted(argv []string) string {
	var b strings.Builder
	for i, a := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(a, "'", `'\''`) + "'")
	}
	return b.String()
}

// endPatience bounds the writing of an end.
const endPatience = 10 * time.Second

// End records how the command ended, and how many bytes it wrote to live
// streams, beside those that the result holds. The record is written also when
// the caller's context has ended; an error is for a log, the command is over.
func (e *Entry) End(ctx context.Context, res *provider.Result, live int64) error {
	exit := res.ExitCode
	return e.end(ctx, Record{
		Exit: &exit, Signal: res.Signal, TimedOut: res.TimedOut, Leftovers: res.LeftRunning,
		Bytes:     live + size(res.Stdout) + size(res.Stderr),
		Truncated: res.Stdout.Omitted+res.Stderr.Omitted > 0,
	})
}

// Outcome is the end of a call that ran no command.
type Outcome struct {
	// Bytes is how much it read or wrote.
	Bytes     int64
	Truncated bool
}

// Done records the end of a call that ran no command.
func (e *Entry) Done(ctx context.Context, o Outcome) error {
	return e.end(ctx, Record{Bytes: o.Bytes, Truncated: o.Truncated})
}

// Fail records that the command did not run, or that its end is not known.
func (e *Entry) Fail(ctx context.Context, why error) error {
	return e.end(ctx, Record{Error: why.Error()})
}

func (e *Entry) end(ctx context.Context, r Record) error {
	if e.Unrecorded != nil {
		return nil // what has no start has no end
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	r.Type, r.Call, r.Millis = TypeEnd, e.call, time.Since(e.begun).Milliseconds()
	return e.gate.o.Log.Append(ctx, r)
}

func size(o provider.Output) int64 { return int64(len(o.Head)+len(o.Tail)) + o.Omitted }
