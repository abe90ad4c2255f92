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
var runsCommands = []string{"exec", "shell"}

// codeOf is the exit status of a failure, as docs/CLI.md promises it.
func codeOf(verb string, err error) int {
	if slices.Contains(runsCommands, verb) {
		return provider.ExitFailure
	}
	var usage usageError
	if errors.As(err, &usage) || errors.Is(err, provider.Invalid) {
		return 2
	}
	return 1
}

// report prints an error on standard error.
func report(err error) {
	var asJSON jsonError
	if !errors.As(err, &asJSON) {
		fmt.Fprintln(os.Stderr, styleOf(os.Stderr).red("sandboxfs:"), err)
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
