package toolsuite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

// Options are what the suite needs of a provider's test.
type Options struct {
	// New returns the provider. It is called once for each case; it may return
	// the same one every time. Each case works in a thread of its own, which
	// is stopped afterwards where the provider can stop one.
	New func(t testing.TB) provider.Provider
	// Hidden are texts that no answer may show, such as the data directory.
	Hidden []string
	// Limit bounds each case; 0 means a minute.
	Limit time.Duration
}

// Run runs the suite.
func Run(t *testing.T, o Options) {
	if o.Limit == 0 {
		o.Limit = time.Minute
	}
	t.Run("Exchanges", func(t *testing.T) { runExchanges(t, o) })
	for _, c := range []struct {
		name string
		run  func(*env)
	}{
		{"Lazy", lazy}, {"Bounds", bounds}, {"KeptOutput", keptOutput}, {"KeptOutputsAreFew", keptOutputsAreFew}, {"NoLimit", noLimit},
		{"ReadIsBounded", readIsBounded}, {"LsIsBounded", lsIsBounded}, {"HugeFile", hugeFile},
		{"Redaction", redaction}, {"Environment", environment}, {"Hidden", hidden}, {"ReadBeforeWrite", readBeforeWrite},
		{"NothingIsLost", nothingIsLost}, {"ModeIsKept", modeIsKept}, {"Cancelled", cancelled}, {"Session", session},
		{"Audit", audited}, {"AuditRefuses", auditRefuses}, {"ThreadsDiffer", threadsDiffer},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newEnv(t, o)) })
	}
}

// env is one case's world: a provider, a new thread and its tools.
type env struct {
	*testing.T
	o   Options
	p   provider.Provider
	key mapping.Key
	ctx context.Context //nolint:containedctx // that of the case
}

func newEnv(t *testing.T, o Options) *env {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), o.Limit)
	t.Cleanup(cancel)
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails
	e := &env{T: t, o: o, p: o.New(t), key: mapping.Key{User: "suite", Thread: "ts-" + hex.EncodeToString(random[:])}, ctx: ctx}
	t.Cleanup(func() { e.stop(e.key) })
	return e
}

func (e *env) stop(key mapping.Key) {
	stopper, ok := e.p.(provider.Stopper)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.o.Limit)
	defer cancel()
	if err := stopper.Stop(ctx, key); err != nil {
		e.Errorf("stop: %v", err)
	}
}

// tools makes the tools of the case's thread, without an audit unless the
// options have one.
func (e *env) tools(o tool.Options) *tool.Set {
	e.Helper()
	o.Unaudited = o.Audit == nil
	s, err := tool.New(provider.NewTurn(e.p, e.key, provider.TurnOptions{}), o)
	if err != nil {
		e.Fatal(err)
	}
	return s
}

// call calls a tool with a description, and sees that the answer shows nothing
// of the host.
func (e *env) call(s *tool.Set, name string, arguments map[string]any) tool.Answer {
	e.Helper()
	with := map[string]any{"description": "a case of the suite"}
	for k, v := range arguments {
		with[k] = v
	}
	raw, err := json.Marshal(with)
	if err != nil {
		e.Fatal(err)
	}
	return e.check(s.Call(e.ctx, name, raw))
}

func (e *env) check(a tool.Answer) tool.Answer {
	e.Helper()
	asJSON, err := json.Marshal(a)
	if err != nil {
		e.Errorf("%s: %v", a.Tool, err)
	}
	for _, hidden := range e.o.Hidden {
		if strings.Contains(string(asJSON), hidden) {
			e.Errorf("%s shows %q: %s", a.Tool, hidden, asJSON)
		}
	}
	if a.Text == "" || a.IsError() && !strings.HasPrefix(a.Text, "Error: ") || a.IsError() == (a.Result != nil) {
		e.Errorf("%s: a failure is not told from an answer: %q, %v", a.Tool, a.Text, a.Err)
	}
	return a
}

// ok is call for what must not fail.
func (e *env) ok(s *tool.Set, name string, arguments map[string]any) tool.Answer {
	e.Helper()
	a := e.call(s, name, arguments)
	if a.IsError() {
		e.Fatalf("%s: %s", name, a.Text)
	}
	return a
}

// bash runs a command that must run.
func (e *env) bash(s *tool.Set, command string) *tool.BashResult {
	e.Helper()
	return e.ok(s, tool.NameBash, map[string]any{"command": command}).Result.(*tool.BashResult)
}

// sandbox is the sandbox itself, to look and to prepare.
func (e *env) sandbox() provider.Sandbox {
	e.Helper()
	id, err := e.p.Acquire(e.ctx, e.key)
	if err != nil {
		e.Fatal(err)
	}
	s, err := e.p.Get(id)
	if err != nil {
		e.Fatal(err)
	}
	return s
}

func (e *env) put(path, content string) {
	e.Helper()
	if err := e.sandbox().WriteFile(e.ctx, path, []byte(content), provider.Replace); err != nil {
		e.Fatal(err)
	}
}

func (e *env) wantFile(path, want string) {
	e.Helper()
	got, err := e.sandbox().ReadFile(e.ctx, path, provider.LineRange{})
	if err != nil || string(got) != want {
		e.Errorf("%s: want %q, got %q, %v", path, clip(want), clip(string(got)), err)
	}
}

func (e *env) wantText(a tool.Answer, want string) {
	e.Helper()
	if a.Text != want {
		e.Errorf("%s: want %q, got %q", a.Tool, clip(want), clip(a.Text))
	}
}

func (e *env) wantContains(a tool.Answer, parts ...string) {
	e.Helper()
	for _, part := range parts {
		if !strings.Contains(a.Text, part) {
			e.Errorf("%s: %q lacks %q", a.Tool, clip(a.Text), part)
		}
	}
}

// log is an audit's log in memory.
type log struct {
	mu      sync.Mutex
	records []audit.Record
	fail    error
}

// Append implements [audit.Appender].
func (l *log) Append(_ context.Context, r audit.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.records = append(l.records, r)
	return nil
}

// gate is an audit with the built-in rules.
func (e *env) gate(l *log) *audit.Gate {
	e.Helper()
	rules, err := audit.NewRulesFile("")
	if err != nil {
		e.Fatal(err)
	}
	return audit.NewGate(audit.GateOptions{Rules: rules, Log: l})
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:300] + " ... " + s[len(s)-300:]
	}
	return s
}
