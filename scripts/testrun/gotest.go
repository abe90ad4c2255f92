package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"regexp"
	"strings"
)

// An event is one line of go test -json, as in `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
	// ImportPath stands in for Package in the events of a build.
	ImportPath string
}

// testID names one test, or a whole package where Test is empty.
type testID struct{ Package, Test string }

func (id testID) String() string {
	name := strings.TrimPrefix(id.Package, module+"/")
	if id.Test != "" {
		name += " " + id.Test
	}
	return name
}

// goTest runs go test and puts what it tells into the report.
func goTest(ctx context.Context, r *report, env, args []string) {
	cmd := osexec.CommandContext(ctx, goCommand(), append([]string{"test", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.stepFailed("go test", err)
		return
	}
	failures := r.failed
	readErr := readEvents(out, r)
	// Exit status 1 says that a test or a build failed; where the events told
	// that already it is not told twice.
	if err := errors.Join(readErr, cmd.Wait()); err != nil && r.failed == failures {
		r.stepFailed("go test", err)
	}
}

// readEvents reads a stream of events until its end. A line that is no event
// is printed as it is.
func readEvents(in io.Reader, r *report) error {
	output := map[testID]*strings.Builder{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(r.out, line)
			} else {
				take(e, output, r)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func take(e event, output map[testID]*strings.Builder, r *report) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if output[id] == nil {
			output[id] = &strings.Builder{}
		}
		output[id].WriteString(e.Output)
	case "pass", "fail", "skip":
		text := ""
		if b := output[id]; b != nil {
			text = b.String()
			delete(output, id)
		}
		r.ended(id, e, text)
	}
}

// A skip is one line of package testenv, or what t.Skip printed.
type skip struct{ test, reason string }

var (
	logLine  = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)
	skipLine = regexp.MustCompile(`(?m)skipped: ([^:\n]+): (.*)$`)
)

// skipReason finds what a skipped test said last.
func skipReason(output string) string {
	if all := innerSkips(output); len(all) > 0 {
		return all[len(all)-1].reason
	}
	all := logLine.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return "no reason given"
	}
	return all[len(all)-1][1]
}

// innerSkips finds the skips in the output of a test that ran other tests in
// a process of their own.
func innerSkips(output string) []skip {
	var all []skip
	for _, m := range skipLine.FindAllStringSubmatch(output, -1) {
		all = append(all, skip{test: m[1], reason: m[2]})
	}
	return all
}
