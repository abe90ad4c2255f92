package toolsuite

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

//go:embed cases.json
var casesJSON []byte

// exchange is one case of cases.json.
type exchange struct {
	Name string `json:"name"`
	// Files are made before, by their paths below the workspace.
	Files map[string]content `json:"files"`
	Steps []step             `json:"steps"`
}

// content is what a file is made of: one of its fields.
type content struct {
	Text    *string `json:"text"`
	Hex     string  `json:"hex"`
	Symlink string  `json:"symlink"`
	Dir     bool    `json:"dir"`
	Repeat  *repeat `json:"repeat"`
}

type repeat struct {
	Argument string `json:"argument"`
	Text     string `json:"text"`
	Times    int    `json:"times"`
}

// step is one call and what must be answered.
type step struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	// Bare leaves the description out; else there is one.
	Bare bool `json:"bare"`
	// Raw are the arguments as text.
	Raw string `json:"raw"`
	// Repeat makes a long argument.
	Repeat *repeat `json:"repeat"`

	// Kind, or one of Kinds, is demanded of the error; without, there must be
	// none.
	Kind  provider.Kind   `json:"kind"`
	Kinds []provider.Kind `json:"kinds"`
	// Judged says that it is for the audit to refuse it: without one it may
	// run.
	Judged   bool     `json:"judged"`
	Equals   *string  `json:"equals"`
	Starts   string   `json:"starts"`
	Contains []string `json:"contains"`
	Absent   []string `json:"absent"`
	// Result are fields of the typed result.
	Result map[string]any `json:"result"`
	// After are files, by their paths below the workspace, and what they hold
	// afterwards.
	After    map[string]string `json:"after"`
	AfterHex map[string]string `json:"after_hex"`
}

func runExchanges(t *testing.T, o Options) {
	var cases []exchange
	if err := json.Unmarshal(casesJSON, &cases); err != nil {
		t.Fatal(err)
	}
	// One sandbox for all: starting one is what takes longest.
	e := newEnv(t, o)
	s := e.tools(tool.Options{})
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.Name, " ", "_"), func(t *testing.T) {
			one := *e
			one.T = t
			one.clear()
			one.make(c.Files)
			for i, st := range c.Steps {
				one.step(fmt.Sprintf("step %d", i+1), s, st)
			}
		})
	}
}

// clear empties the workspace.
func (e *env) clear() {
	e.Helper()
	res, err := e.sandbox().Execute(e.ctx, provider.Command{Script: "shopt -s dotglob nullglob; rm -rf ./*"})
	if err != nil || res.ExitCode != 0 {
		e.Fatalf("clear: %v, %+v", err, res)
	}
}

func (e *env) make(files map[string]content) {
	e.Helper()
	var script strings.Builder
	for name, c := range files {
		path := mapping.Workspace + "/" + name
		switch {
		case c.Text != nil:
			e.put(path, *c.Text)
		case c.Repeat != nil:
			e.put(path, strings.Repeat(c.Repeat.Text, c.Repeat.Times))
		case c.Dir:
			fmt.Fprintf(&script, "mkdir -p '%s'\n", name)
		case c.Symlink != "":
			fmt.Fprintf(&script, "ln -s '%s' '%s'\n", c.Symlink, name)
		default:
			b, err := hex.DecodeString(c.Hex)
			if err != nil {
				e.Fatal(err)
			}
			e.put(path, string(b))
		}
	}
	if script.Len() > 0 {
		if res, err := e.sandbox().Execute(e.ctx, provider.Command{Script: script.String()}); err != nil || res.ExitCode != 0 {
			e.Fatalf("making the files: %v, %+v", err, res)
		}
	}
}

func (e *env) step(what string, s *tool.Set, st step) {
	e.Helper()
	var a tool.Answer
	switch {
	case st.Raw != "":
		a = e.check(s.Call(e.ctx, st.Tool, json.RawMessage(st.Raw)))
	case st.Bare:
		raw, err := json.Marshal(st.Arguments)
		if err != nil {
			e.Fatal(err)
		}
		a = e.check(s.Call(e.ctx, st.Tool, raw))
	default:
		arguments := map[string]any{}
		for k, v := range st.Arguments {
			arguments[k] = v
		}
		if st.Repeat != nil {
			arguments[st.Repeat.Argument] = strings.Repeat(st.Repeat.Text, st.Repeat.Times)
		}
		a = e.call(s, st.Tool, arguments)
	}
	if st.Judged {
		return
	}
	kinds := st.Kinds
	if st.Kind != "" {
		kinds = append(kinds, st.Kind)
	}
	if !isOneOf(provider.KindOf(a.Err), kinds) {
		e.Errorf("%s: %s: want an error of kind %v, got %q: %v\n%s", what, st.Tool, kinds, provider.KindOf(a.Err), a.Err, clip(a.Text))
	}
	if st.Equals != nil && a.Text != *st.Equals {
		e.Errorf("%s: want %q, got %q", what, clip(*st.Equals), clip(a.Text))
	}
	if !strings.HasPrefix(a.Text, st.Starts) {
		e.Errorf("%s: %q does not start with %q", what, clip(a.Text), st.Starts)
	}
	e.wantContains(a, st.Contains...)
	for _, part := range st.Absent {
		if strings.Contains(a.Text, part) {
			e.Errorf("%s: %q has %q", what, clip(a.Text), part)
		}
	}
	e.wantResult(what, a, st.Result)
	for name, want := range st.After {
		e.wantFile(mapping.Workspace+"/"+name, want)
	}
	for name, want := range st.AfterHex {
		b, _ := hex.DecodeString(want)
		e.wantFile(mapping.Workspace+"/"+name, string(b))
	}
}

func isOneOf(k provider.Kind, kinds []provider.Kind) bool {
	if len(kinds) == 0 {
		return k == ""
	}
	for _, want := range kinds {
		if k == want {
			return true
		}
	}
	return false
}

// wantResult compares some fields of the result, as JSON has them.
func (e *env) wantResult(what string, a tool.Answer, want map[string]any) {
	e.Helper()
	if len(want) == 0 {
		return
	}
	b, err := json.Marshal(a.Result)
	if err != nil {
		e.Fatal(err)
	}
	var got map[string]any
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&got); err != nil || got == nil {
		e.Errorf("%s: there is no result: %s", what, b)
		return
	}
	for field, value := range want {
		if !reflect.DeepEqual(got[field], value) {
			e.Errorf("%s: %s: want %v, got %v", what, field, value, got[field])
		}
	}
}
