package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// kept takes records until it is told not to.
type kept struct {
	records []Record
	err     error
}

func (k *kept) Append(_ context.Context, r Record) error {
	if k.err == nil {
		k.records = append(k.records, r)
	}
	return k.err
}

func newGate(t *testing.T, log Appender, required Required) *Gate {
	t.Helper()
	rules, err := NewRulesFile("")
	if err != nil {
		t.Fatal(err)
	}
	return NewGate(GateOptions{Rules: rules, Log: log, Required: required})
}

func callOf(origin, command string) Call {
	return Call{Key: mapping.Key{User: "alice", Thread: "t1"}, Sandbox: "local:alice:t1", Provider: "local", Origin: origin, Tool: "bash",
		Description: "see", Command: command}
}

func TestGateRecordsStartAndEnd(t *testing.T) {
	log := &kept{}
	g := newGate(t, log, RecordFirst)
	e, err := g.Begin(t.Context(), callOf(OriginTool, "pip install x"))
	if err != nil {
		t.Fatal(err)
	}
	if e.Judgement.Verdict != Warn || e.Judgement.Rule != "install-package" {
		t.Errorf("got %+v, want a warning about packages", e.Judgement)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // the caller may be gone by then
	res := &provider.Result{ExitCode: 143, Signal: 15, TimedOut: true, LeftRunning: 2, Stdout: provider.Output{Head: []byte("ab"), Omitted: 10}}
	if err := e.End(ended, res, 5); err != nil {
		t.Fatal(err)
	}
	if len(log.records) != 2 {
		t.Fatalf("got %d records, want 2", len(log.records))
	}
	start, end := log.records[0], log.records[1]
	if start.Type != TypeStart || start.Thread != "t1" || start.User != "alice" || start.Description != "see" || start.Command != "pip install x" ||
		*start.Verdict != Warn || start.Blocked || start.Call == "" || start.Sandbox == "" || start.Provider != "local" {
		t.Errorf("start is %+v", start)
	}
	if end.Type != TypeEnd || end.Call != start.Call || *end.Exit != 143 || end.Signal != 15 || !end.TimedOut || end.Leftovers != 2 || end.Bytes != 17 || !end.Truncated {
		t.Errorf("end is %+v", end)
	}
}

func TestGateBlocksAgentsAndNotPeople(t *testing.T) {
	for _, origin := range []string{OriginTool, OriginMCP, OriginHTTP, OriginPerson} {
		log := &kept{}
		e, err := newGate(t, log, RecordFirst).Begin(t.Context(), callOf(origin, "rm -rf /"))
		want := origin != OriginPerson
		if got := errors.Is(err, provider.Denied); got != want {
			t.Errorf("%s: got %v, want blocked %v", origin, err, want)
		}
		if want && (!strings.Contains(err.Error(), "remove-root") || !strings.Contains(err.Error(), "rm -rf /")) {
			t.Errorf("%s: %q names not the rule and the part", origin, err)
		}
		if len(log.records) != 1 || log.records[0].Blocked != want || *log.records[0].Verdict != Block {
			t.Errorf("%s: recorded %+v", origin, log.records)
		}
		if e == nil {
			t.Errorf("%s: no entry", origin)
		}
	}
}

func TestGateRefusesWhatIsNoCommand(t *testing.T) {
	log := &kept{}
	g := newGate(t, log, RecordFirst)
	for _, command := range []string{"", " \n\t", "a\x00b", strings.Repeat("x", CommandLimit+1)} {
		if _, err := g.Begin(t.Context(), callOf(OriginTool, command)); !errors.Is(err, provider.Denied) {
			t.Errorf("%.20q: got %v", command, err)
		}
	}
	if len(log.records) != 4 {
		t.Errorf("%d of 4 were recorded", len(log.records))
	}
	if _, err := g.Begin(t.Context(), callOf(OriginTool, strings.Repeat("x", CommandLimit))); err != nil {
		t.Errorf("the greatest command: %v", err)
	}
}

func TestGateFilesAreRecordedAndPass(t *testing.T) {
	log := &kept{}
	c := Call{Origin: OriginTool, Tool: "read_file", Path: "/etc/shadow", Description: "look"}
	e, err := newGate(t, log, RecordFirst).Begin(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Done(t.Context(), Outcome{Bytes: 3}); err != nil {
		t.Fatal(err)
	}
	if len(log.records) != 2 || log.records[0].Path != "/etc/shadow" || *log.records[0].Verdict != Pass || log.records[1].Bytes != 3 {
		t.Errorf("recorded %+v", log.records)
	}
}

func TestNoRecordNoCommand(t *testing.T) {
	full := errors.New("no space left on device")
	for _, c := range []struct {
		origin   string
		required Required
		runs     bool
	}{
		{OriginTool, RecordFirst, false},
		{OriginMCP, RecordFirst, false},
		{OriginTool, RecordIfPossible, true},
		{OriginPerson, RecordFirst, true},
	} {
		e, err := newGate(t, &kept{err: full}, c.required).Begin(t.Context(), callOf(c.origin, "ls"))
		switch {
		case c.runs && (err != nil || e.Unrecorded == nil):
			t.Errorf("%+v: got %v, want it to run and say that there is no record", c, err)
		case !c.runs && !errors.Is(err, provider.Unavailable):
			t.Errorf("%+v: got %v, want unavailable", c, err)
		}
	}
	// What is blocked is blocked, record or not.
	if _, err := newGate(t, &kept{err: full}, RecordIfPossible).Begin(t.Context(), callOf(OriginTool, "rm -rf /")); !errors.Is(err, provider.Denied) {
		t.Errorf("got %v, want denied", err)
	}
}

// TestFullDisk fills the log's disk for real.
func TestFullDisk(t *testing.T) {
	testenv.RequireRoot(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	gate, err := Open(Config{Dir: filepath.Join(dir, "audit")})
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	begin := func() error {
		_, err := gate.Begin(t.Context(), callOf(OriginTool, "echo "+strings.Repeat("x", 3000)))
		return err
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	balloon := filepath.Join(dir, "balloon")
	for {
		f, err := os.OpenFile(balloon, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(make([]byte, 4096))
		f.Close()
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := 0
	for range 4 { // a page of the file may have room left
		if err := begin(); err != nil {
			refused++
			if !errors.Is(err, provider.Unavailable) || !errors.Is(err, unix.ENOSPC) || strings.Contains(err.Error(), dir) {
				t.Errorf("got %v", err)
			}
		}
	}
	if refused == 0 {
		t.Error("commands run though they cannot be recorded")
	}
	if err := os.Remove(balloon); err != nil {
		t.Fatal(err)
	}
	if err := begin(); err != nil {
		t.Errorf("with room again: %v", err)
	}
	wantWhole(t, filepath.Join(dir, "audit"), 0)
}
