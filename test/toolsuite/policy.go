package toolsuite

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/sandboxfs/sandboxfs/audit"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

// redaction demands that a value injected into one call is in none of its
// answers, whatever way it takes.
func redaction(e *env) {
	const secret, longer = "hunter2-hunter2", "hunter2-hunter2-and-more"
	s := e.tools(tool.Options{Env: map[string]string{"LONGER": longer}, Redact: []string{"a-third-value"}})
	run := func(command string) string {
		e.Helper()
		raw, err := json.Marshal(map[string]any{"description": "x", "command": command})
		if err != nil {
			e.Fatal(err)
		}
		a := e.check(s.Do(e.ctx, tool.Request{Name: tool.NameBash, Arguments: raw, Env: map[string]string{"SECRET": secret, "SHORT": "1234567"}}))
		if a.IsError() {
			e.Fatal(a.Text)
		}
		all, _ := json.Marshal(a)
		for _, value := range []string{"hunter2", "a-third-value"} {
			if strings.Contains(string(all), value) {
				e.Errorf("%s: the answer has %q: %s", command, value, clip(string(all)))
			}
		}
		if r := a.Result.(*tool.BashResult); r.OutputFile != "" {
			if b := e.kept(r); strings.Contains(b, "hunter2") {
				i := strings.Index(b, "hunter2")
				e.Errorf("%s: the kept output has it: %q", command, b[max(i-20, 0):min(i+20, len(b))])
			}
		}
		return a.Text
	}
	if got := run("echo $SECRET; echo $LONGER >&2; echo $SHORT; echo a-third-value"); got != "[redacted]\n1234567\n[redacted]\nStd Error:\n[redacted]\n" {
		e.Errorf("got %q", got)
	}
	run("for ((i = 0; i < 5000; i++)); do printf %s $SECRET; done")
	// Floods, of which the middle is dropped at any place in a value.
	for _, before := range []string{"", "1234567", "123456789012"} {
		run("printf '" + before + "'; yes $SECRET-$LONGER | head -c 5999981")
		run("printf '" + before + "'; yes $SECRET | tr -d '\\n' | head -c 4999995")
	}
	// The next call does not have it.
	if r := e.bash(s, "echo ${SECRET-none}"); r.Output != "none\n" {
		e.Errorf("another call has the variable: %q", r.Output)
	}
}

// environment demands that no secret of the host reaches a command by itself.
func environment(e *env) {
	host := []string{"MY_SETTING=plain", "MY_TOKEN=of-the-host", "OTHER=x", "DATABASE_URL=of-the-host"}
	s := e.tools(tool.Options{HostEnv: []string{"MY_*", "DATABASE_*"}, Environ: host})
	r := e.bash(s, "env | grep -e MY_ -e OTHER -e URL")
	if !strings.Contains(r.Output, "MY_SETTING=plain") || strings.Contains(r.Output, "of-the-host") || strings.Contains(r.Output, "OTHER=x") {
		e.Errorf("the environment is %q", r.Output)
	}
	if _, err := tool.New(provider.NewTurn(e.p, e.key, provider.TurnOptions{}), tool.Options{Unaudited: true, HostEnv: []string{"MY_TOKEN"}}); !errors.Is(err, provider.Invalid) {
		e.Errorf("a secret of the host can be named: %v", err)
	}
}

// hidden demands that what is below a hidden path is neither shown nor
// touched.
func hidden(e *env) {
	const dir = mapping.Workspace + "/private"
	e.put(dir+"/key.txt", "needle")
	e.put(mapping.Workspace+"/private-not.txt", "needle")
	s := e.tools(tool.Options{Hidden: []string{dir + "/"}})
	for _, c := range []struct {
		name      string
		arguments map[string]any
	}{
		{tool.NameLs, map[string]any{"path": mapping.Workspace}},
		{tool.NameGlob, map[string]any{"path": mapping.Workspace, "pattern": "**", "include_dirs": true}},
		{tool.NameGrep, map[string]any{"path": mapping.Workspace, "pattern": "needle"}},
	} {
		a := e.ok(s, c.name, c.arguments)
		if !strings.Contains(a.Text, "private-not.txt") || strings.Contains(a.Text, "private/") || strings.Contains(a.Text, "key.txt") {
			e.Errorf("%s: %q", c.name, a.Text)
		}
	}
	for _, p := range []string{dir, dir + "/key.txt", "private/../private/key.txt", dir + "//key.txt"} {
		for _, c := range []struct {
			name      string
			arguments map[string]any
		}{
			{tool.NameLs, nil}, {tool.NameReadFile, nil}, {tool.NameWriteFile, map[string]any{"content": "x"}},
			{tool.NameStrReplace, map[string]any{"old_str": "n", "new_str": "m"}}, {tool.NameGlob, map[string]any{"pattern": "*"}}, {tool.NameGrep, map[string]any{"pattern": "x"}},
		} {
			arguments := map[string]any{"path": p}
			for k, v := range c.arguments {
				arguments[k] = v
			}
			if a := e.call(s, c.name, arguments); !errors.Is(a.Err, provider.NotFound) {
				e.Errorf("%s %s: %q", c.name, p, a.Text)
			}
		}
	}
	e.wantFile(dir+"/key.txt", "needle")
}

// readBeforeWrite demands that a file is changed only as it was read.
func readBeforeWrite(e *env) {
	const p = mapping.Workspace + "/f"
	s := e.tools(tool.Options{ReadBeforeWrite: true})
	write := map[string]any{"path": p, "content": "one"}
	read := map[string]any{"path": mapping.Workspace + "/./f"}
	refused := func(what, name string, arguments map[string]any) {
		e.Helper()
		if a := e.call(s, name, arguments); !errors.Is(a.Err, provider.Conflict) {
			e.Errorf("%s: %q", what, a.Text)
		} else {
			e.wantContains(a, "read_file", p)
		}
	}
	e.ok(s, tool.NameWriteFile, write) // it is not there
	refused("not read", tool.NameWriteFile, write)
	e.ok(s, tool.NameReadFile, read)
	e.ok(s, tool.NameWriteFile, map[string]any{"path": p, "content": "two"})
	refused("read, written, written", tool.NameWriteFile, write)
	e.ok(s, tool.NameReadFile, read)
	e.put(p, "by somebody else")
	refused("changed since", tool.NameStrReplace, map[string]any{"path": p, "old_str": "by", "new_str": "for"})
	e.ok(s, tool.NameReadFile, read)
	s.ForgetReads()
	refused("forgotten", tool.NameWriteFile, write)
	e.ok(s, tool.NameReadFile, map[string]any{"path": p, "start_line": 1, "end_line": 1})
	refused("read in part", tool.NameWriteFile, write)
	// Of two changes on one reading, one lands.
	e.ok(s, tool.NameReadFile, read)
	landed := make(chan bool)
	for range 2 {
		go func() {
			landed <- !e.call(s, tool.NameWriteFile, map[string]any{"path": p, "content": "+", "append": true}).IsError()
		}()
	}
	if a, b := <-landed, <-landed; a == b {
		e.Errorf("of two changes on one reading %v and %v landed", a, b)
	}
	e.wantFile(p, "by somebody else+")
	if a := e.call(s, tool.NameStrReplace, map[string]any{"path": "none", "old_str": "a", "new_str": "b"}); !errors.Is(a.Err, provider.NotFound) {
		e.Errorf("a missing file: %q", a.Text)
	}
}

// audited demands two records for each call, with its reason.
func audited(e *env) {
	l := &log{}
	s := e.tools(tool.Options{Audit: e.gate(l), Provider: "here"})
	calls := []struct {
		name      string
		arguments map[string]any
	}{
		{tool.NameBash, map[string]any{"command": "echo x; exit 3"}}, {tool.NameLs, map[string]any{"path": mapping.Workspace}},
		{tool.NameWriteFile, map[string]any{"path": "f", "content": "a"}}, {tool.NameReadFile, map[string]any{"path": "f"}},
		{tool.NameStrReplace, map[string]any{"path": "f", "old_str": "a", "new_str": "b"}},
		{tool.NameGlob, map[string]any{"path": mapping.Workspace, "pattern": "*"}}, {tool.NameGrep, map[string]any{"path": mapping.Workspace, "pattern": "b"}},
		{tool.NameReadFile, map[string]any{"path": "none"}},
	}
	for i, c := range calls {
		e.call(s, c.name, c.arguments)
		if len(l.records) != 2*(i+1) {
			e.Fatalf("%s: there are %d records", c.name, len(l.records))
		}
		start, end := l.records[2*i], l.records[2*i+1]
		if start.Type != audit.TypeStart || end.Type != audit.TypeEnd || start.Call == "" || start.Call != end.Call || start.Tool != c.name ||
			start.Description != "a case of the suite" || start.Thread != e.key.Thread || start.User != e.key.User || start.Origin != audit.OriginTool ||
			start.Provider != "here" || start.Sandbox != s.ID() || start.Sandbox == "" {
			e.Errorf("%s: %+v\n%+v", c.name, start, end)
		}
	}
	if r := l.records[1]; r.Exit == nil || *r.Exit != 3 || r.Bytes != 2 || r.Truncated {
		e.Errorf("the end of the command is %+v", r)
	}
	if r := l.records[len(l.records)-1]; r.Error == "" {
		e.Errorf("the end of a failure is %+v", r)
	}
	l.records = nil
	e.bash(s, "seq 1 10000")
	if r := l.records[1]; !r.Truncated || r.Bytes != 48894 {
		e.Errorf("the end of a long output is %+v", r)
	}
}

// auditRefuses demands that what the audit blocks does not run, that a warning
// is passed on, and that nothing runs that cannot be recorded.
func auditRefuses(e *env) {
	l := &log{}
	s := e.tools(tool.Options{Audit: e.gate(l)})
	a := e.call(s, tool.NameBash, map[string]any{"command": "touch ran; curl -s http://localhost/x | sh"})
	var denied *tool.DeniedError
	if !errors.As(a.Err, &denied) || denied.Rule == "" || denied.Reason == "" || denied.Part == "" || !errors.Is(a.Err, provider.Denied) {
		e.Fatalf("got %q, %v", a.Text, a.Err)
	}
	e.wantContains(a, "Command blocked: ", denied.Rule, denied.Reason, denied.Part)
	if f := a.Failure(); f == nil || f.Rule != denied.Rule || f.Kind != provider.Denied {
		e.Errorf("the failure is %+v", f)
	}
	if len(l.records) != 1 || !l.records[0].Blocked {
		e.Errorf("the records are %+v", l.records)
	}
	r := e.bash(s, "umask 022; export PATH=$PATH:/opt/x; ls")
	if r.Warning == nil || r.ExitCode != 0 || !strings.Contains(r.Text(), "Warning: ") || !strings.Contains(r.Text(), r.Warning.Rule) {
		e.Errorf("a warning: %q", r.Text())
	}
	if r.Output != "(no output)" && r.Output != "" {
		e.Errorf("the command ran that was blocked: %q", r.Output)
	}
	for _, raw := range []string{`{"description":"x","command":""}`, `{"description":"x","command":7}`, `{"description":"x"}`, `{"description":"x","command":"a\u0000b"}`, `{"description":"x","command":"` + strings.Repeat("a", 10001) + `"}`} {
		before := len(l.records)
		if a := e.check(s.Call(e.ctx, tool.NameBash, json.RawMessage(raw))); !a.IsError() {
			e.Errorf("%s ran: %q", clip(raw), a.Text)
		}
		if len(l.records) == before {
			e.Errorf("%s was not recorded", clip(raw))
		}
	}
	l.fail = errors.New("the disk is full")
	for _, c := range []struct {
		name      string
		arguments map[string]any
	}{{tool.NameBash, map[string]any{"command": "touch ran"}}, {tool.NameWriteFile, map[string]any{"path": "ran", "content": ""}}} {
		if a := e.call(s, c.name, c.arguments); !errors.Is(a.Err, provider.Unavailable) {
			e.Errorf("%s ran without a record: %q", c.name, a.Text)
		}
	}
	if _, err := e.sandbox().ReadFile(e.ctx, mapping.Workspace+"/ran", provider.LineRange{}); !errors.Is(err, provider.NotFound) {
		e.Errorf("something ran: %v", err)
	}
}
