package exec

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

func TestBoundsForSlots(t *testing.T) {
	for _, tt := range []struct {
		name  string
		b     processBounds
		slots int
		want  uint64
	}{
		{"none", processBounds{}, 9, 0},
		{"exact", processBounds{commands: 400}, 30, 400},
		{"first", processBounds{commands: 512, ceiling: 960}, 1, 512 + guestTasks + slotTasks},
		{"tenth", processBounds{commands: 512, ceiling: 960}, 10, 512 + guestTasks + 10*slotTasks},
		{"full", processBounds{commands: 512, ceiling: 960}, 100, 960},
	} {
		if got := tt.b.forSlot(tt.slots); got != tt.want {
			t.Errorf("%s: want %d, got %d", tt.name, tt.want, got)
		}
	}
}

// Commands that do next to nothing are not kept from running by what it takes to
// run them.
func TestSandboxFortyCommandsAtOnce(t *testing.T) {
	if inSandbox(t) != "namespace" {
		testenv.SkipArchitectural(t, "without namespaces the limit is the test's own, without room for slots")
	}
	e := executor(t)
	var all []*Process
	for range 40 {
		c := script("read x; echo end")
		c.Stdin = StdinPipe
		all = append(all, start(t, e, c))
	}
	for _, p := range all {
		p.Stdin.Close()
		if o := collect(t, p); o.stdout != "end\n" {
			t.Errorf("%+v", o)
		}
	}
	// Their slots are there still; a command alone has no more for that.
	o := run(t, e, script("ulimit -u"))
	if n, err := strconv.Atoi(strings.TrimSpace(o.stdout)); err != nil || n > testProcesses+guestTasks+slotTasks*(spareSlots+1) {
		t.Errorf("%q processes for a command alone", o.stdout)
	}
}

// A command that makes processes for ever meets its limit where it should, and
// the next command runs meanwhile or is told why not.
func TestSandboxLimitOfProcesses(t *testing.T) {
	if inSandbox(t) != "namespace" {
		testenv.SkipArchitectural(t, "without namespaces the limit is the test's own, without room for slots")
	}
	e := executor(t)
	c := Command{Dir: "/tmp", Env: testEnv, Stdin: StdinPipe, Argv: []string{"perl", "-e", `
		$| = 1; my $n = 0;
		while (defined(my $p = fork)) { if (!$p) { sleep 600 while 1 } $n++ }
		print "$n\n"; <STDIN>`}}
	p := start(t, e, c)
	line := strings.TrimSpace(expectUntil(t, p, "\n"))
	if n, err := strconv.Atoi(line); err != nil || n < testProcesses*9/10 || n > testProcesses+guestTasks {
		t.Errorf("%q processes, want about %d", line, testProcesses)
	}
	for range 3 {
		other, err := e.Start(t.Context(), Command{Argv: []string{"true"}, Dir: "/tmp", Env: testEnv})
		var serr *StartError
		switch {
		case err == nil:
			collect(t, other)
		case !errors.As(err, &serr) || serr.Reason != NoResources || !strings.HasPrefix(err.Error(), "start true: "):
			t.Error(err)
		}
		t.Log(err)
	}
	p.Stdin.Close()
	collect(t, p)
	if o := run(t, e, script("echo on")); o.stdout != "on\n" {
		t.Errorf("%+v", o)
	}
}

func TestStartErrorSaysWhatToDo(t *testing.T) {
	for _, err := range []error{unix.EAGAIN, errSlotLost, errSlotLate, errSlotUnused} {
		got := startError("prog", err)
		var serr *StartError
		if !errors.As(got, &serr) || serr.Reason != NoResources || !strings.Contains(got.Error(), "end other commands first") {
			t.Errorf("%v: %v", err, got)
		}
	}
}
