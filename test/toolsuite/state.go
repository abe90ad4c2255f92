package toolsuite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/tool"
)

// lazy demands that no sandbox is made without a call that needs one, that its
// id is there afterwards, and that a second state finds it again.
func lazy(e *env) {
	s := e.tools(tool.Options{})
	e.call(s, tool.NameReadFile, map[string]any{"path": "f", "start_line": 0})
	e.call(s, tool.NameWriteFile, map[string]any{"path": "f", "content": strings.Repeat("x", 100000)})
	if s.ID() != "" {
		e.Errorf("a refused call made the sandbox %q", s.ID())
	}
	e.ok(s, tool.NameWriteFile, map[string]any{"path": "f", "content": "kept"})
	if s.ID() == "" {
		e.Fatal("there is no id")
	}
	again, err := tool.New(provider.NewTurn(e.p, e.key, provider.TurnOptions{StoredID: s.ID()}), tool.Options{Unaudited: true})
	if err != nil {
		e.Fatal(err)
	}
	e.wantText(e.ok(again, tool.NameReadFile, map[string]any{"path": "f"}), "kept")
	if again.ID() != s.ID() {
		e.Errorf("the ids are %q and %q", s.ID(), again.ID())
	}
	if _, err := tool.New(provider.NewTurn(e.p, e.key, provider.TurnOptions{}), tool.Options{}); !errors.Is(err, provider.Invalid) {
		e.Errorf("tools without an audit are made: %v", err)
	}
}

// nothingIsLost demands that changes of one file that come at once all land.
func nothingIsLost(e *env) {
	const p, n = mapping.Workspace + "/shared", 12
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "old-%02d\n", i)
	}
	e.put(p, b.String())
	sets := []*tool.Set{e.tools(tool.Options{}), e.tools(tool.Options{})}
	var all sync.WaitGroup
	for i := range n {
		s := sets[i%2]
		all.Go(func() {
			spelling := p
			if i%3 == 0 {
				spelling = mapping.Workspace + "/./shared"
			}
			if a := e.call(s, tool.NameStrReplace, map[string]any{"path": spelling, "old_str": fmt.Sprintf("old-%02d", i), "new_str": fmt.Sprintf("new-%02d", i)}); a.IsError() {
				e.Errorf("replace %d: %s", i, a.Text)
			}
		})
		all.Go(func() {
			if a := e.call(s, tool.NameWriteFile, map[string]any{"path": p, "content": fmt.Sprintf("added-%02d\n", i), "append": true}); a.IsError() {
				e.Errorf("append %d: %s", i, a.Text)
			}
		})
	}
	all.Wait()
	got, err := e.sandbox().ReadFile(e.ctx, p, provider.LineRange{})
	if err != nil {
		e.Fatal(err)
	}
	for i := range n {
		for _, line := range []string{fmt.Sprintf("new-%02d\n", i), fmt.Sprintf("added-%02d\n", i)} {
			if strings.Count(string(got), line) != 1 {
				e.Errorf("%q is there %d times", line, strings.Count(string(got), line))
			}
		}
	}
}

// modeIsKept demands that a change of what is in a file is no change of its
// mode.
func modeIsKept(e *env) {
	s := e.tools(tool.Options{})
	e.bash(s, "printf 'echo one' > run.sh; chmod 750 run.sh")
	e.ok(s, tool.NameStrReplace, map[string]any{"path": "run.sh", "old_str": "one", "new_str": "two"})
	e.ok(s, tool.NameWriteFile, map[string]any{"path": "run.sh", "content": "\n", "append": true})
	if r := e.bash(s, "stat -c %a run.sh; ./run.sh"); r.Output != "750\ntwo\n" {
		e.Errorf("got %q", r.Text())
	}
	e.ok(s, tool.NameWriteFile, map[string]any{"path": "run.sh", "content": "echo three\n"})
	if r := e.bash(s, "stat -c %a run.sh; ./run.sh"); r.Output != "750\nthree\n" {
		e.Errorf("got %q", r.Text())
	}
}

// cancelled demands that the end of a call's context ends its command.
func cancelled(e *env) {
	s := e.tools(tool.Options{})
	ctx, cancel := context.WithCancel(e.ctx)
	answer := make(chan tool.Answer, 1)
	go func() {
		raw := json.RawMessage(`{"description":"x","command":"exec 9> lock; flock 9; echo > started; sleep 300"}`)
		answer <- s.Call(ctx, tool.NameBash, raw)
	}()
	e.bash(s, "until [ -e started ]; do sleep 0.02; done")
	cancel()
	select {
	case a := <-answer:
		if !a.IsError() {
			e.Errorf("a cancelled call answers %q", a.Text)
		}
	case <-time.After(e.o.Limit):
		e.Fatal("the call goes on")
	}
	if r := e.bash(s, "flock -w 20 lock echo free"); r.Output != "free\n" {
		e.Errorf("the command goes on: %q", r.Text())
	}
}

// session demands that a session keeps its state where the sandbox has
// sessions, and a clear refusal where it has none.
func session(e *env) {
	s := e.tools(tool.Options{})
	first := e.call(s, tool.NameBash, map[string]any{"command": "mkdir -p d && cd d && export X=1", "session": "build"})
	if _, ok := e.sandbox().(provider.Sessioner); !ok {
		if !errors.Is(first.Err, provider.Invalid) {
			e.Errorf("without sessions: %q", first.Text)
		}
		e.wantContains(first, "session")
		return
	}
	if first.IsError() {
		e.Fatal(first.Text)
	}
	second := e.ok(s, tool.NameBash, map[string]any{"command": "basename $PWD; echo $X; sleep 300 &", "session": "build"})
	if r := second.Result.(*tool.BashResult); r.Output != "d\n1\n" || r.LeftoversEnded != 0 || r.Session != "build" {
		e.Errorf("got %+v", r)
	}
	third := e.ok(s, tool.NameBash, map[string]any{"command": "exit 3", "session": "build"})
	if r := third.Result.(*tool.BashResult); r.SessionChange == "" || r.ExitCode != 3 {
		e.Errorf("got %+v", r)
	}
	e.wantContains(third, "session build: ")
	if r := e.bash(s, "basename $PWD"); r.Output != "workspace\n" {
		e.Errorf("a command without a session is in one: %q", r.Text())
	}
}

// threadsDiffer demands that the same path is another file in another thread.
func threadsDiffer(e *env) {
	s := e.tools(tool.Options{})
	e.ok(s, tool.NameWriteFile, map[string]any{"path": "f", "content": "mine"})
	other := *e
	other.key.Thread += "-b"
	e.Cleanup(func() { e.stop(other.key) })
	t := other.tools(tool.Options{})
	if a := other.call(t, tool.NameReadFile, map[string]any{"path": "f"}); !errors.Is(a.Err, provider.NotFound) {
		e.Errorf("another thread reads %q", a.Text)
	}
	other.ok(t, tool.NameWriteFile, map[string]any{"path": "f", "content": "theirs"})
	e.wantText(e.ok(s, tool.NameReadFile, map[string]any{"path": "f"}), "mine")
}
