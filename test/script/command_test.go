package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	osexec "os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdStatus is "rc N PROGRAM [ARGUMENT...]": the program's exit status must be
// N. What it printed can be looked at as after exec.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rc N PROGRAM [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *osexec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		if got = exit.ExitCode(); got < 0 {
			ts.Fatalf("%s was ended by signal %d", args[1], exit.Sys().(syscall.WaitStatus).Signal())
		}
	}
	if got != want {
		ts.Fatalf("want exit status %d, got %d", want, got)
	}
}

// untilDeadline bounds cmdUntil.
const untilDeadline = 20 * time.Second

// cmdUntil is "[!] until PROGRAM [ARGUMENT...]": it runs the program again and
// again until it succeeds (fails).
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: [!] until PROGRAM [ARGUMENT...]")
	}
	end := time.Now().Add(untilDeadline)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for (ts.Exec(args[0], args[1:]...) == nil) == neg {
		if time.Now().After(end) {
			ts.Fatalf("not within %v", untilDeadline)
		}
		<-tick.C
	}
}

// cmdJSON is "[!] json stdout|stderr [KEY[=VALUE]...]": the stream holds
// nothing but JSON objects, one a line, and one of them has (has not) all of
// the keys, and the values where given.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: [!] json stdout|stderr [KEY[=VALUE]...]")
	}
	found := false
	for line := range bytes.Lines([]byte(ts.ReadFile(args[0]))) {
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil {
			ts.Fatalf("not a JSON object: %q: %v", line, err)
		}
		found = found || hasAll(object, args[1:])
	}
	if found == neg {
		ts.Fatalf("an object with %v: want %v, got %v", args[1:], !neg, found)
	}
}

func hasAll(object map[string]any, want []string) bool {
	for _, w := range want {
		key, value, compare := strings.Cut(w, "=")
		got, ok := object[key]
		if !ok || compare && fmt.Sprint(got) != value {
			return false
		}
	}
	return true
}
