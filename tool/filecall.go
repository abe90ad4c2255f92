package tool

import (
	"context"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/provider"
)

// fileCall is what the audit is told of a call that is no command.
type fileCall struct {
	tool, description, path, pattern string
}

// file runs a file tool: it acquires the sandbox and has the call recorded
// before and after.
func (s *Set) file(ctx context.Context, c fileCall, do func(provider.Sandbox) (audit.Outcome, error)) error {
	if err := described(c.tool, c.description); err != nil {
		return err
	}
	sandbox, pass, err := s.begin(ctx, audit.Call{Tool: c.tool, Description: c.description, Path: c.path, Arguments: c.pattern})
	if err != nil {
		return err
	}
	outcome, err := do(sandbox)
	if err != nil {
		pass.failed(ctx, err)
		return err
	}
	pass.done(ctx, outcome)
	return nil
}
