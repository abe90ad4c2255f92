package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/tool"
)

// host is a data directory of a test's own, and the programs.
type host struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // that of the test
	programs testenv.Programs
	env      []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	testenv.RequireFUSE(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	base := t.TempDir()
	h := &host{t: t, ctx: ctx, programs: testenv.Binaries(t)}
	h.env = append(os.Environ(), "SANDBOXFS_HOME="+filepath.Join(base, "home"), "SANDBOXFS_RUNTIME_DIR="+filepath.Join(base, "run"), "SANDBOXFSD="+h.programs.Sandboxfsd)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := osexec.CommandContext(ctx, h.programs.Sandboxfs, "stop", "--all")
		cmd.Env = h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("stop: %v\n%s", err, out)
		}
	})
	return h
}

func (h *host) server(args ...string) *osexec.Cmd {
	cmd := osexec.CommandContext(h.ctx, h.programs.Sandboxfs, append([]string{"mcp"}, args...)...)
	cmd.Env = h.env
	return cmd
}

// connect starts a server and a client of the SDK's for it.
func (h *host) connect(o *sdk.ClientOptions, args ...string) *sdk.ClientSession {
	h.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(h.ctx, &sdk.CommandTransport{Command: h.server(args...)}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return session
}

// call calls a tool that must answer, and checks the structured content by the
// schema that the server itself announced.
func (h *host) call(s *sdk.ClientSession, name string, arguments map[string]any) *sdk.CallToolResult {
	h.t.Helper()
	arguments["description"] = "a test"
	res, err := s.CallTool(h.ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	if res.IsError {
		h.t.Fatalf("%s: %s", name, textOf(res))
	}
	spec, _ := tool.SpecOf(name)
	var schema jsonschema.Schema
	if err := json.Unmarshal(spec.OutputSchema, &schema); err != nil {
		h.t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := resolved.Validate(res.StructuredContent); err != nil {
		h.t.Errorf("%s: the structured content breaks its schema: %v", name, err)
	}
	return res
}

func textOf(r *sdk.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestListsAndCallsEveryTool(t *testing.T) {
	h := newHost(t)
	s := h.connect(nil, "--thread", "t", "--env", "API_TOKEN=sesame-open-42")
	list, err := s.ListTools(h.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, listed := range list.Tools {
		names = append(names, listed.Name)
		a := listed.Annotations
		if listed.Title == "" || listed.Description == "" || listed.InputSchema == nil || listed.OutputSchema == nil || a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: something is not said: %+v", listed.Name, listed)
			continue
		}
		writes := listed.Name == "bash" || listed.Name == "write_file" || listed.Name == "str_replace"
		if a.ReadOnlyHint == writes || *a.DestructiveHint != writes || a.IdempotentHint == writes || *a.OpenWorldHint != (listed.Name == "bash") {
			t.Errorf("%s: the annotations are not true: %+v", listed.Name, a)
		}
	}
	if len(names) != 7 {
		t.Errorf("the tools are %v", names)
	}
	const file = "/mnt/user-data/workspace/a/b.txt"
	for _, c := range []struct {
		name      string
		arguments map[string]any
		want      string
	}{
		{"write_file", map[string]any{"path": file, "content": "one\ntwo\n"}, "OK"},
		{"bash", map[string]any{"command": "cat a/b.txt; echo $API_TOKEN; exit 3"}, "one\ntwo\n[redacted]\nExit Code: 3"},
		{"read_file", map[string]any{"path": file, "start_line": 2}, "two"},
		{"str_replace", map[string]any{"path": file, "old_str": "two", "new_str": "three"}, "OK"},
		{"ls", map[string]any{"path": "/mnt/user-data/workspace"}, "/mnt/user-data/workspace/a/\n" + file},
		{"glob", map[string]any{"path": "/mnt/user-data", "pattern": "**/*.txt"}, "Found 1 path under /mnt/user-data\n1. " + file},
		{"grep", map[string]any{"path": "/mnt/user-data", "pattern": "THREE"}, "Found 1 match under /mnt/user-data\n" + file + ":2: three"},
	} {
		if got := textOf(h.call(s, c.name, c.arguments)); got != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
	}
}

// A tool that fails is an answer that a model sees; a tool that does not exist
// is the client's mistake.
func TestFailuresAreErrorsOfTheTool(t *testing.T) {
	h := newHost(t)
	s := h.connect(nil, "--thread", "t")
	for name, c := range map[string]struct {
		tool      string
		arguments any
		want      string
	}{
		"missing file": {"read_file", map[string]any{"description": "x", "path": "/mnt/user-data/workspace/none"}, "no such file"},
		"blocked":      {"bash", map[string]any{"description": "x", "command": "rm -rf /"}, "Command blocked: "},
		"arguments":    {"bash", map[string]any{"command": "ls"}, "description is missing"},
		"no object":    {"ls", nil, "description is missing"},
		"read-only":    {"write_file", map[string]any{"description": "x", "path": "/mnt/user-data/uploads/x", "content": "y"}, "read-only"},
	} {
		res, err := s.CallTool(h.ctx, &sdk.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil || !res.IsError || !strings.HasPrefix(textOf(res), "Error: ") || !strings.Contains(textOf(res), c.want) {
			t.Errorf("%s: %v, %+v", name, err, res)
			continue
		}
		if failure, ok := res.Meta["sandboxfs/error"].(map[string]any); !ok || failure["kind"] == "" || name == "blocked" && failure["rule"] == nil {
			t.Errorf("%s: the typed error is %v", name, res.Meta)
		}
	}
	if _, err := s.CallTool(h.ctx, &sdk.CallToolParams{Name: "none"}); err == nil {
		t.Error("a tool that does not exist was called")
	}
}

// holding is a command that holds a lock until it ends.
const holding = "exec 9>/tmp/held; flock 9; echo > started; sleep 300"

// wantReleased waits until the command that held the lock has ended.
func (h *host) wantReleased(s *sdk.ClientSession) {
	h.t.Helper()
	if got := textOf(h.call(s, "bash", map[string]any{"command": "flock -w 30 /tmp/held echo free"})); strings.TrimSpace(got) != "free" {
		h.t.Errorf("the command goes on: %q", got)
	}
}

// awaitStarted waits until the command holds the lock.
func (h *host) awaitStarted(s *sdk.ClientSession) {
	h.t.Helper()
	h.call(s, "bash", map[string]any{"command": "until [ -e started ]; do sleep 0.02; done", "timeout": 30})
}

func TestCancellationEndsTheCommand(t *testing.T) {
	h := newHost(t)
	s := h.connect(nil, "--thread", "t")
	ctx, cancel := context.WithCancel(h.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "bash", Arguments: map[string]any{"description": "x", "command": holding}})
		ended <- err
	}()
	h.awaitStarted(s)
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call has an answer")
	}
	h.wantReleased(s)
}

// A client that goes away leaves no command and no server behind.
func TestTheEndOfTheClientEndsTheCommand(t *testing.T) {
	h := newHost(t)
	other := h.connect(nil, "--thread", "t")
	cmd := h.server("--thread", "t")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	command, _ := json.Marshal(holding)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bash","arguments":{"description":"x","command":`+string(command)+`}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	h.awaitStarted(other)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	h.wantReleased(other)
}

func TestProgress(t *testing.T) {
	h := newHost(t)
	seen := make(chan *sdk.ProgressNotificationParams, 100)
	s := h.connect(&sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		seen <- r.Params
	}}, "--thread", "t")
	p := &sdk.CallToolParams{Name: "bash", Arguments: map[string]any{"description": "x", "command": "echo first; until [ -e go ]; do sleep 0.05; done; echo last"}}
	p.SetProgressToken("mine")
	ended := make(chan *sdk.CallToolResult, 1)
	go func() {
		res, err := s.CallTool(h.ctx, p)
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	select {
	case n := <-seen:
		if n.ProgressToken != "mine" || n.Progress <= 0 || !strings.Contains(n.Message, "first") {
			t.Errorf("progress is %+v", n)
		}
	case <-h.ctx.Done():
		t.Fatal("no progress was reported")
	}
	h.call(s, "write_file", map[string]any{"path": "go", "content": ""})
	if res := <-ended; res != nil && !strings.Contains(textOf(res), "last") {
		t.Errorf("got %q", textOf(res))
	}
}

// Standard output holds the protocol and nothing else, whatever there is to
// say.
func TestStandardOutputIsTheProtocol(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("sandbox:\n  no_such_key: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := h.server("--thread", "t", "--config", file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	send := func(text string) {
		if _, err := io.WriteString(in, text); err != nil {
			t.Errorf("sending: %v", err)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n")
	if !lines.Scan() || !strings.Contains(lines.Text(), `"serverInfo"`) {
		t.Fatalf("the answer is %q", lines.Text())
	}
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
	n := 0
	for ; lines.Scan(); n++ {
		var message struct {
			Version string `json:"jsonrpc"`
		}
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil || message.Version != "2.0" {
			t.Errorf("on standard output: %q", lines.Text())
		}
		if n == 0 { // what is no protocol may end it
			send("not JSON at all\n")
			_ = in.Close()
		}
	}
	_ = cmd.Wait()
	if n == 0 {
		t.Error("there was no answer")
	}
	if !strings.Contains(errs.String(), "no_such_key") {
		t.Errorf("the warning is not on standard error: %q", errs.String())
	}
}

// The sandbox is made by the first call and not before.
func TestNoCallNoSandbox(t *testing.T) {
	h := newHost(t)
	s := h.connect(nil, "--thread", "t")
	if _, err := s.ListTools(h.ctx, nil); err != nil {
		t.Fatal(err)
	}
	ps := func() string {
		cmd := osexec.CommandContext(h.ctx, h.programs.Sandboxfs, "ps", "--json")
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if got := ps(); got != "" {
		t.Errorf("a sandbox was made: %s", got)
	}
	h.call(s, "bash", map[string]any{"command": "true"})
	if got := ps(); !strings.Contains(got, `"thread":"t"`) {
		t.Errorf("there is no sandbox: %q", got)
	}
}
