//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

// exitStatus is the status of a command that ran, passed through. It is no
// failure and prints nothing.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// usageError says that the command line was wrong.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// failure is an error of what was asked for, also where its kind is that of a
// wrong argument: the exit status is 1.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// jsonError marks an error that is to be printed as an object, since --json
// was given.
type jsonError struct{ error }

func (e jsonError) Unwrap() error { return e.error }

// inJSON gives an error the form that --json asks for.
func inJSON(c *cli.Context, err error) error {
	if err == nil || !c.Bool("json") {
		return err
	}
	return jsonError{err}
}

// runsCommands are the verbs whose exit status is the command's own, and whose
// failures are therefore 125.
var runsCommands = []string{"exec", "run", "shell"}

// codeOf is the exit status of a failure, as docs/CLI.md promises it.
func codeOf(verb string, err error) int {
	if slices.Contains(runsCommands, verb) {
		return provider.ExitFailure
	}
	var usage usageError
	var failed failure
	if errors.As(err, &usage) || errors.Is(err, provider.Invalid) && !errors.As(err, &failed) {
		return 2
	}
	return 1
}

// report prints an error on standard error.
func report(err error) {
	var asJSON jsonError
	if !errors.As(err, &asJSON) {
		for _, one := range apart(err) {
			// A name in it can be an agent's, and hold what a terminal obeys.
			fmt.Fprintln(os.Stderr, styleOf(os.Stderr).red("sandboxfs:"), printable(one.Error()))
		}
		return
	}
	object := struct {
		Error  string        `json:"error"`
		Kind   provider.Kind `json:"kind"`
		Op     string        `json:"op,omitempty"`
		Thread string        `json:"thread,omitempty"`
		Path   string        `json:"path,omitempty"`
		Next   string        `json:"next,omitempty"`
	}{Error: err.Error(), Kind: provider.KindOf(err)}
	var usage usageError
	if errors.As(err, &usage) {
		object.Kind = provider.Invalid
	}
	var e *provider.Error
	if errors.As(err, &e) {
		object.Error, object.Op, object.Thread, object.Path, object.Next = e.Reason, e.Op, e.Thread, e.Path, e.Next
		if object.Error == "" {
			object.Error = string(e.Kind)
		}
	}
	json.NewEncoder(os.Stderr).Encode(object)
}

// apart returns the errors that were joined to one.
func apart(err error) []error {
	if f, ok := err.(failure); ok {
		err = f.error
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, apart(e)...)
	}
	return all
}
