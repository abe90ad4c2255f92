package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Request is a call of a tool by its name.
type Request struct {
	// Name is one of [Names].
	Name string
	// Arguments are a JSON object, as the model wrote it.
	Arguments json.RawMessage
	// Env is set for a command of this call; its values are redacted from the
	// answer.
	Env map[string]string
	// Progress is called now and then while a command of this call runs.
	Progress func(Progress)
}

// Call calls a tool by its name with arguments as a model writes them. It
// always answers: an error is an answer that says so.
func (s *Set) Call(ctx context.Context, name string, arguments json.RawMessage) Answer {
	return s.Do(ctx, Request{Name: name, Arguments: arguments})
}

// Do is [Set.Call] with what a model cannot give.
func (s *Set) Do(ctx context.Context, r Request) Answer {
	result, err := s.dispatch(ctx, r)
	if err != nil {
		return Failed(r.Name, err)
	}
	return Answer{Tool: r.Name, Text: result.Text(), Result: result}
}

func (s *Set) dispatch(ctx context.Context, r Request) (Result, error) {
	switch r.Name {
	case NameBash:
		var a BashArguments
		if err := decode(r.Name, r.Arguments, &a); err != nil {
			return nil, s.refuseArguments(ctx, r, err)
		}
		a.Env, a.Progress = r.Env, r.Progress
		return typed(s.Bash(ctx, a))
	case NameLs:
		return with(ctx, r, s.Ls)
	case NameReadFile:
		return with(ctx, r, s.ReadFile)
	case NameWriteFile:
		return with(ctx, r, s.WriteFile)
	case NameStrReplace:
		return with(ctx, r, s.StrReplace)
	case NameGlob:
		return with(ctx, r, s.Glob)
	case NameGrep:
		return with(ctx, r, s.Grep)
	}
	return nil, &provider.Error{Kind: provider.NotFound, Op: "call", Reason: fmt.Sprintf("there is no tool %q", clip(r.Name, 100)),
		Next: "use one of " + strings.Join(Names(), ", ")}
}

// with decodes the arguments of a method and calls it.
func with[A any, R Result](ctx context.Context, r Request, call func(context.Context, A) (R, error)) (Result, error) {
	var a A
	if err := decode(r.Name, r.Arguments, &a); err != nil {
		return nil, err
	}
	return typed(call(ctx, a))
}

// typed keeps a nil pointer from becoming a result.
func typed[R Result](r R, err error) (Result, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// refuseArguments records a command that could not be read from its arguments.
func (s *Set) refuseArguments(ctx context.Context, r Request, why error) error {
	var given struct {
		Command     any `json:"command"`
		Description any `json:"description"`
		Session     any `json:"session"`
	}
	_ = json.Unmarshal(r.Arguments, &given)
	c := audit.Call{Tool: NameBash}
	c.Command, _ = given.Command.(string)
	c.Description, _ = given.Description.(string)
	c.Session, _ = given.Session.(string)
	pass, err := s.admit(ctx, c)
	if err != nil {
		if c.Command == "" {
			return why // says more than that there is no command
		}
		return err
	}
	pass.failed(ctx, why)
	return why
}
