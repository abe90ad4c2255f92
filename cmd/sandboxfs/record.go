//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/internal/config"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
)

// auditConfig is what the settings say of the audit. The log is in the data
// directory.
func auditConfig(cfg *config.Config) (audit.Config, error) {
	resolved, err := cfg.Provider.Resolve(provider.ProcessEnvironment())
	if err != nil {
		return audit.Config{}, err
	}
	a := audit.Config{Dir: filepath.Join(resolved.Home, "audit"), Rules: cfg.Audit.Rules, Sync: audit.Sync(cfg.Audit.Sync), MaxBytes: cfg.Audit.MaxBytes, MaxAge: cfg.Audit.MaxAge}
	if a.MaxBytes == 0 {
		a.MaxBytes = -1
	}
	if a.MaxAge == 0 {
		a.MaxAge = -1
	}
	if !cfg.Audit.Required {
		a.Required = audit.RecordIfPossible
	}
	return a, nil
}

// openGate opens the audit of the data directory. The caller closes it.
func openGate(c *cli.Context) (*audit.Gate, error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, err
	}
	a, err := auditConfig(cfg)
	if err != nil {
		return nil, err
	}
	return audit.Open(a)
}

// record puts the audit before a starter. What a person runs is recorded and
// never blocked: where there can be no record the command runs, and that is
// said. done is called when nothing is started any more.
func record(c *cli.Context, s provider.Starter, key mapping.Key, sandbox string) (recorded provider.Starter, done func()) {
	gate, err := openGate(c)
	if err != nil {
		unrecorded(err)
		return s, func() {}
	}
	cfg, err := settings(c)
	if err != nil {
		return s, func() { gate.Close() }
	}
	call := audit.Call{Key: key, Sandbox: sandbox, Provider: cfg.Provider.Use, Origin: audit.OriginPerson, Tool: c.Command.Name}
	return recorder{s, gate, call}, func() { gate.Close() }
}

func unrecorded(err error) { fmt.Fprintln(os.Stderr, "sandboxfs: warning: not recorded:", err) }

// recorder records what is started.
type recorder struct {
	provider.Starter
	gate *audit.Gate
	call audit.Call
}

func (r recorder) Start(ctx context.Context, cmd provider.Command) (provider.Process, error) {
	call := r.call
	call.Argv, call.Command, call.Session = cmd.Argv, cmd.Script, cmd.Session
	entry, err := r.gate.Begin(ctx, call)
	if err != nil {
		return nil, err
	}
	if entry.Unrecorded != nil {
		unrecorded(entry.Unrecorded)
	}
	written := &counter{}
	cmd.Stdout, cmd.Stderr = written.of(cmd.Stdout), written.of(cmd.Stderr)
	p, err := r.Starter.Start(ctx, cmd)
	if err != nil {
		return nil, errors.Join(err, entry.Fail(ctx, err))
	}
	return &recordedProcess{p, ctx, entry, written}, nil
}

// counter counts what goes through some writers.
type counter struct{ bytes atomic.Int64 }

func (n *counter) of(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return counted{w, n}
}

type counted struct {
	io.Writer
	n *counter
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.bytes.Add(int64(n))
	return n, err
}

type recordedProcess struct {
	provider.Process
	ctx     context.Context
	entry   *audit.Entry
	written *counter
}

func (p *recordedProcess) Wait() (*provider.Result, error) {
	res, err := p.Process.Wait()
	end := func() error { return p.entry.End(p.ctx, res, p.written.bytes.Load()) }
	if err != nil {
		end = func() error { return p.entry.Fail(p.ctx, err) }
	}
	if err := end(); err != nil {
		unrecorded(err)
	}
	return res, err
}
