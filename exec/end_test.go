package exec

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSandboxTerminate(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct {
		name, script string
		grace        time.Duration
		status       Status
		output       string
	}{
		{"by the signal", "echo go; exec sleep 600", deadline, Status{ExitCode: 143, Signal: 15}, ""},
		{"group", "sleep 600 & sleep 601 & echo go; wait", deadline, Status{ExitCode: 143, Signal: 15}, ""},
		{"cleans up", "trap 'echo bye; exit 3' TERM; echo go; while :; do sleep 0.01; done", deadline, Status{ExitCode: 3}, "bye\n"},
		{"ignores it", "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 600; touch /tmp/late' &); echo go; while :; do sleep 1; done", 100 * time.Millisecond, Status{ExitCode: 137, Signal: 9}, ""},
		{"stopped", "trap '' TERM; echo go; kill -STOP $$", 100 * time.Millisecond, Status{ExitCode: 137, Signal: 9}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, e, script(tt.script))
			expect(t, p, "go\n")
			begun := time.Now()
			Terminate(p, tt.grace)
			if took := time.Since(begun); took > deadline/2 {
				t.Errorf("took %v", took)
			}
			o := collect(t, p)
			o.Duration, o.LeftRunning = 0, 0
			if o.Status != tt.status || o.stdout != tt.output {
				t.Errorf("want %+v %q, got %+v", tt.status, tt.output, o)
			}
			noStrangers(t, e)
		})
	}
}

func TestSandboxSignal(t *testing.T) {
	e := executor(t)
	p := start(t, e, script("trap 'echo usr1' USR1; echo go; i=0; while [ $i -lt 500 ]; do sleep 0.02; i=$((i+1)); done"))
	expect(t, p, "go\n")
	if err := p.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	expectUntil(t, p, "usr1\n")
	for _, bad := range []unix.Signal{0, -1, 65} {
		if err := p.Signal(bad); !errors.Is(err, unix.EINVAL) {
			t.Errorf("signal %d: %v", bad, err)
		}
	}
	p.Signal(unix.SIGKILL)
	if o := collect(t, p); o.Signal != 9 {
		t.Errorf("%+v", o.Status)
	}
	if err := p.Signal(unix.SIGTERM); err != nil {
		t.Errorf("signal after the end: %v", err)
	}
	p.Kill()
}

func TestSandboxTenAtOnceEndIndependently(t *testing.T) {
	e := executor(t)
	var all []*Process
	for i := range 10 {
		c := script(fmt.Sprintf("setsid sleep 600 & echo go; read x; echo end %d", i))
		c.Stdin = StdinPipe
		all = append(all, start(t, e, c))
	}
	for _, p := range all {
		expect(t, p, "go\n")
	}
	if n := e.Running(); n != 10 {
		t.Errorf("%d running", n)
	}
	for i, p := range all {
		switch i % 2 {
		case 0:
			p.Kill()
			if o := collect(t, p); o.Signal != 9 {
				t.Errorf("%d: %+v", i, o)
			}
		case 1:
			p.Stdin.Close()
			if o := collect(t, p); o.stdout != fmt.Sprintf("end %d\n", i) || o.LeftRunning != 1 {
				t.Errorf("%d: %+v", i, o)
			}
		}
		if n := e.Running(); n != 9-i {
			t.Errorf("%d running after %d ended", n, i+1)
		}
	}
	noStrangers(t, e)
}

func TestSandboxManyAtOnce(t *testing.T) {
	e := executor(t, func(c *Config) { c.WarmSlots = 4 })
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				want := fmt.Sprintf("%d.%d\n", w, i)
				if o := run(t, e, script("sleep 600 & echo "+strings.TrimSpace(want))); o.stdout != want || o.LeftRunning != 1 {
					t.Errorf("want %q, got %+v", want, o)
				}
			}
		})
	}
	wg.Wait()
	noStrangers(t, e)
}

func TestSandboxKillAtAnyMoment(t *testing.T) {
	e := executor(t, func(c *Config) { c.WarmSlots = 2 })
	for i := range 40 {
		p := start(t, e, script("sleep 600 & sleep 601"))
		timer := time.AfterFunc(time.Duration(i%20)*300*time.Microsecond, p.Kill)
		if o := collect(t, p); o.Signal != 9 {
			t.Errorf("%+v", o)
		}
		timer.Stop()
	}
	noStrangers(t, e)
}

func TestSandboxClose(t *testing.T) {
	e := executor(t)
	p := start(t, e, script("echo go; setsid sleep 600 & sleep 600"))
	expect(t, p, "go\n")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if o := collect(t, p); o.Signal != 9 {
		t.Errorf("%+v", o)
	}
	if _, err := e.Start(t.Context(), script("true")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	noStrangers(t, e)
	if n := slots(e); n != 0 {
		t.Errorf("%d slots are left", n)
	}
}

// A tree that cannot be ended does not hold Wait for ever.
func TestSandboxStuck(t *testing.T) {
	e := executor(t, func(c *Config) { c.KillTimeout = 50 * time.Millisecond })
	p := start(t, e, script("echo go; sleep 600"))
	expect(t, p, "go\n")
	// As if the kernel did not let go: a stopped slot, and nobody who can kill.
	e.reaper.mu.Lock()
	unix.Kill(p.slot.pid, unix.SIGSTOP)
	p.Kill()
	stop := time.AfterFunc(deadline, e.reaper.mu.Unlock)
	_, err := p.Wait()
	if stop.Stop() {
		e.reaper.mu.Unlock()
	}
	if !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
	p.Stdout.Close()
	p.Stderr.Close()
	if n := e.Running(); n != 0 {
		t.Errorf("%d running", n)
	}
	waitFor(t, "the slot to end", func() bool { return slots(e) == 0 })
	noStrangers(t, e)
}

// What is meant for a command that has ended does not hit the next one in its
// slot.
func TestSandboxLateSignalsMissTheNextCommand(t *testing.T) {
	e := executor(t)
	first := start(t, e, script("true"))
	collect(t, first)
	c := script("echo go; read x; echo alive")
	c.Stdin = StdinPipe
	next := start(t, e, c)
	if next.slot != first.slot {
		t.Fatal("the slot was not reused")
	}
	expect(t, next, "go\n")
	for _, m := range []*encoder{newMessage(msgKill).num(first.turn), newMessage(msgSignal).num(first.turn).num(15)} {
		if err := first.slot.send(m.b, nil); err != nil {
			t.Fatal(err)
		}
	}
	next.Stdin.Close()
	if o := collect(t, next); o.stdout != "alive\n" {
		t.Errorf("%+v", o)
	}
}
