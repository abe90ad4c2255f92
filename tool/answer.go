package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Result is what a tool answers where it did what it was asked for. Its JSON
// form is that of the tool's output schema.
type Result interface {
	// Text is the answer for a model, never empty.
	Text() string
}

// Answer is what a call of a tool by name returns.
type Answer struct {
	// Tool is the name under which it was called.
	Tool string
	// Text is for the model: the result's text, or what failed and what to do
	// next, after "Error: ". It is never empty and shows no host path.
	Text string
	// Result is nil where the call failed.
	Result Result
	// Err is why it failed, nil where it did not: an [*provider.Error], or a
	// [*DeniedError].
	Err error
}

// Failed is the answer of a call that failed before it reached a Set.
func Failed(name string, err error) Answer {
	return Answer{Tool: name, Text: errorText(err), Err: err}
}

// IsError reports whether the call failed. A command that ran and ended with
// another status than 0 is no failure.
func (a Answer) IsError() bool { return a.Err != nil }

// Failure is an error as JSON shows it.
type Failure struct {
	Kind   provider.Kind `json:"kind"`
	Reason string        `json:"reason"`
	Next   string        `json:"next,omitempty"`
	Path   string        `json:"path,omitempty"`
	// Rule and Part are of the audit, where it blocked the command.
	Rule string `json:"rule,omitempty"`
	Part string `json:"part,omitempty"`
}

// Failure returns the error in the form that JSON shows, nil where there is
// none.
func (a Answer) Failure() *Failure {
	if a.Err == nil {
		return nil
	}
	f := &Failure{Kind: provider.KindOf(a.Err), Reason: "an unexpected error"}
	var e *provider.Error
	if errors.As(a.Err, &e) {
		f.Reason, f.Next, f.Path = e.Reason, e.Next, e.Path
	}
	var d *DeniedError
	if errors.As(a.Err, &d) {
		f.Reason, f.Rule, f.Part = d.Reason, d.Rule, d.Part
	}
	return f
}

// MarshalJSON writes the answer as one object: tool, text, and result or error.
func (a Answer) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Tool   string   `json:"tool"`
		Text   string   `json:"text"`
		Result Result   `json:"result,omitempty"`
		Error  *Failure `json:"error,omitempty"`
	}{a.Tool, a.Text, a.Result, a.Failure()})
}

// Warning is what the audit noticed in a command that it let run.
type Warning struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Part   string `json:"part,omitempty"`
}

// DeniedError is a command that the audit blocked: it did not run. Its kind is
// denied.
type DeniedError struct {
	// Err is the error of the audit.
	Err error
	// Rule is the id of the rule, Reason why it exists, and Part what of the
	// command it is about.
	Rule, Reason, Part string
}

// Error names the rule, the reason and the part.
func (e *DeniedError) Error() string {
	text := fmt.Sprintf("Command blocked: %s (rule %s). It was not run", e.Reason, e.Rule)
	var audited *provider.Error
	if errors.As(e.Err, &audited) && strings.Contains(audited.Next, e.Part) || e.Part == "" {
		return text
	}
	return fmt.Sprintf("%s, because of the part `%s`", text, e.Part)
}

// Unwrap returns the error of the audit.
func (e *DeniedError) Unwrap() error { return e.Err }

// maxErrorText bounds the text of an error, in characters.
const maxErrorText = 2000

// errorText is what a model is told of an error.
func errorText(err error) string {
	text := ""
	var (
		denied *DeniedError
		e      *provider.Error
	)
	switch {
	case errors.As(err, &denied):
		text = denied.Error() + next(denied.Err)
	case errors.As(err, &e):
		text = e.Reason
		if e.Reason == "" {
			text = string(e.Kind)
		}
		// A reason that names the path itself needs no second one.
		if e.Path != "" && !strings.Contains(text, e.Path) {
			text = e.Path + ": " + text
		}
		text += next(err)
	default:
		// The text of any other error can hold a path of the host.
		text = "an unexpected error inside the sandbox software. Try again; if it stays, tell the user"
	}
	text, _ = middle("Error: "+text, maxErrorText, 0, "\n[error truncated: %d chars skipped]\n")
	return text
}

// next is an error's advice as a sentence.
func next(err error) string {
	var e *provider.Error
	if !errors.As(err, &e) || e.Next == "" {
		return ""
	}
	return ". " + strings.ToUpper(e.Next[:1]) + e.Next[1:] + "."
}
