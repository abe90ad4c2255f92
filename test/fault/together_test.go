package fault

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// TestTwoThreadsSideBySide runs a thousand commands in two threads at once.
// Each writes and reads the same paths, and only its own is ever there.
func TestTwoThreadsSideBySide(t *testing.T) {
	commands := 500
	if testing.Short() {
		commands = 50
	}
	w := newWorld(t, "")
	var both sync.WaitGroup
	for _, thread := range []string{"left", "right"} {
		both.Go(func() {
			for i := range commands {
				script := fmt.Sprintf(`echo %[1]s-%[2]d >>/mnt/user-data/workspace/f && echo %[1]s >/tmp/f &&
					cat /tmp/f /mnt/user-data/workspace/f | grep -v '^%[1]s' | wc -l
					ls /mnt/user-data/workspace /tmp /mnt/user-data/.. | tr '\n' ' '
					cat /proc/[0-9]*/cmdline | tr '\0' ' ' | grep -c %[3]s`, thread, i, map[string]string{"left": "righ[t]", "right": "lef[t]"}[thread])
				code, got := w.try(t, "exec", thread, "--", "bash", "-c", script)
				want := "0\n/mnt/user-data/..: acp-workspace skills user-data  /mnt/user-data/workspace: f  /tmp: f 0"
				if code != 1 || got != want {
					t.Errorf("%s, command %d: want status 1 and %q, got %d and %q", thread, i, want, code, got)
					return
				}
			}
		})
	}
	both.Wait()
	for _, thread := range []string{"left", "right"} {
		if want, got := fmt.Sprint(commands), w.sh(t, thread, "grep -c '^"+thread+"-' f"); got != want {
			t.Errorf("%s: want %s lines, got %s", thread, want, got)
		}
	}
}

// TestCommandsOfOneThreadEndIndependently runs ten commands of one thread at
// once. Each ends when its own time has come, and no other with it; one tries
// to end all the others, and they do not see each other.
func TestCommandsOfOneThreadEndIndependently(t *testing.T) {
	const n = 10
	w := newWorld(t, "")
	w.sh(t, "many", "true")
	all := make([]*started, n)
	for i := range all {
		script := fmt.Sprintf(`touch up-%[1]d; until test -e go-%[1]d; do sleep 0.02; done; exit %[2]d`, i, 10+i)
		all[i] = w.start(t, "exec", "many", "--", "bash", "-c", script)
	}
	testenv.Poll(t, 30*time.Second, "all of them to run", func() bool { return w.sh(t, "many", "ls up-* | wc -l") == fmt.Sprint(n) })

	if got := w.sh(t, "many", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'up-[0-9]' || true"); got != "0" {
		t.Errorf("a command sees %s others", got)
	}
	w.do(t, 137, "exec", "many", "--", "bash", "-c", "kill -9 -1; kill -9 $$")

	left := w.random.Perm(n)
	expect := func(i, want int) {
		t.Helper()
		if got := all[i].wait(t); got != want {
			t.Errorf("command %d: want status %d, got %d: %s", i, want, got, all[i].out)
		}
		for _, other := range left {
			if !all[other].running() {
				t.Errorf("command %d ended with command %d: %s", other, i, all[other].out)
			}
		}
	}
	for round := 0; len(left) > 0; round++ {
		i := left[0]
		left = left[1:]
		if round%3 == 2 {
			if err := all[i].cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			expect(i, 128+int(syscall.SIGTERM))
			continue
		}
		w.sh(t, "many", fmt.Sprintf("touch go-%d", i))
		expect(i, 10+i)
	}
}

// TestOneSandboxForAll lets many programs want one thread at once.
func TestOneSandboxForAll(t *testing.T) {
	w := newWorld(t, "")
	for round := range 4 {
		thread := fmt.Sprintf("same%d", round)
		all := make([]*started, 6)
		for i := range all {
			all[i] = w.start(t, append([]string{"exec", thread, "--"}, hostview.UTSCommand()...)...)
		}
		seen := map[string]bool{}
		for _, s := range all {
			if code := s.wait(t); code != 0 {
				t.Errorf("status %d: %s", code, s.out)
				continue
			}
			seen[strings.TrimSpace(s.out.String())] = true
		}
		if len(seen) != 1 {
			t.Errorf("want one sandbox, got %v", seen)
		}
		if got := strings.Count(w.do(t, 0, "ps", "--json"), `"thread":"`+thread+`"`); got != 1 {
			t.Errorf("want one sandbox listed, got %d", got)
		}
		w.do(t, 0, "stop", thread)
	}
}

// TestStopAgainstUse stops a sandbox again and again under programs that use
// it. A command either runs or fails as a whole, and afterwards all works.
func TestStopAgainstUse(t *testing.T) {
	w := newWorld(t, "")
	var all []*started
	for range *rounds {
		for range 3 {
			all = append(all, w.start(t, "exec", "busy", "--", "echo", "ran"))
		}
		w.pause(60 * time.Millisecond)
		w.do(t, 0, "stop", "busy")
	}
	for _, s := range all {
		code := s.wait(t)
		if ran := strings.TrimSpace(s.out.String()) == "ran"; code == 0 && !ran {
			t.Errorf("status 0, but it said %q", s.out)
		}
	}
	if got := w.sh(t, "busy", "echo after"); got != "after" {
		t.Errorf("afterwards: %q", got)
	}
}
