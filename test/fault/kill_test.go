package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// A victim chooses one of our processes to be killed.
type victim struct {
	name   string
	choose func(*testing.T, *world, *started) (pid int, ok bool)
}

var victims = [...]victim{
	{"keeper", func(t *testing.T, w *world, _ *started) (int, bool) {
		return pick(w.ours(t), func(p hostview.Process) bool { return p.Depth == 0 })
	}},
	{"guest", func(t *testing.T, w *world, _ *started) (int, bool) {
		return pick(w.ours(t), func(p hostview.Process) bool { return p.Depth == 1 && p.First })
	}},
	{"slot", func(t *testing.T, w *world, _ *started) (int, bool) {
		return pick(w.ours(t), func(p hostview.Process) bool { return p.Depth > 0 && !(p.Depth == 1 && p.First) })
	}},
	{"command line", func(_ *testing.T, _ *world, s *started) (int, bool) { return s.cmd.Process.Pid, s.running() }},
}

func pick(all []hostview.Process, is func(hostview.Process) bool) (int, bool) {
	for _, p := range all {
		if is(p) {
			return p.PID, true
		}
	}
	return 0, false
}

// work is what runs when a process is killed: it writes, it forks, and it
// waits.
const work = `for i in $(seq 200); do echo $i >f$((i % 7)); (sleep 0.01) & done; wait; sleep 0.2`

// TestKillAtAnyMoment kills each kind of process, while a command runs in a
// live sandbox and while the sandbox is being made. Whatever became of that
// command: it ends, the next one works, and after a stop nothing is left.
func TestKillAtAnyMoment(t *testing.T) {
	testenv.RequireRoot(t) // to see the processes of a sandbox
	for _, v := range victims {
		for _, state := range []string{"live", "cold"} {
			t.Run(v.name+" "+state, func(t *testing.T) {
				w := newWorld(t, "")
				for round := range *rounds {
					w.killOnce(t, v, state == "live", fmt.Sprintf("t%d", round))
				}
			})
		}
	}
}

func (w *world) killOnce(t *testing.T, v victim, live bool, thread string) {
	t.Helper()
	if live {
		w.sh(t, thread, "true")
	}
	s := w.start(t, "exec", thread, "--", "bash", "-c", work)
	w.pause(300 * time.Millisecond)
	pid, found := v.choose(t, w, s)
	if found {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
	}
	status := s.wait(t)
	t.Logf("%s: killed %v; the command line ended with %d: %s", thread, found, status, strings.TrimSpace(s.out.String()))
	if found && v.name != "command line" && status < 0 {
		t.Errorf("%s: the command line was ended by a signal", thread)
	}

	// The next command works at once and sees the files of the one before.
	if got := w.sh(t, thread, "echo next; ls | wc -l"); !strings.HasPrefix(got, "next\n") {
		t.Errorf("%s: the next command said %q", thread, got)
	}
	// And nothing of the broken command is seen in the sandbox.
	uts := w.do(t, 0, append([]string{"exec", thread, "--"}, hostview.UTSCommand()...)...)
	testenv.Poll(t, 5*time.Second, "the killed command's processes to end", func() bool {
		return len(hostview.Commands(hostview.InUTS(uts))) == 0
	})
	w.do(t, 0, "stop", thread)
	w.expectClean(t)
}

// TestKilledAndCollected leaves a sandbox dead and demands that gc alone,
// without a next command, removes all of it.
func TestKilledAndCollected(t *testing.T) {
	testenv.RequireRoot(t)
	for _, v := range victims[:2] {
		t.Run(v.name, func(t *testing.T) {
			w := newWorld(t, "")
			w.sh(t, "dead", "true")
			pid, found := v.choose(t, w, nil)
			if !found {
				t.Fatal("no such process")
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			testenv.Poll(t, 10*time.Second, "the rest of the sandbox to end", func() bool { return len(w.ours(t)) == 0 })
			w.do(t, 0, "gc")
			w.expectClean(t)
		})
	}
}

// TestAcknowledgedWrites kills the keeper under a command that writes and says
// so: what it said it wrote is on the host.
func TestAcknowledgedWrites(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t, "")
	for round := range *rounds {
		thread := fmt.Sprintf("w%d", round)
		w.sh(t, thread, "true")
		s := w.start(t, "exec", thread, "--", "bash", "-c", `for ((i = 0; ; i++)); do echo "line $i" >>log && echo "$i"; done`)
		log := filepath.Join(w.home, "users", "default", "threads", thread, "user-data", "workspace", "log")
		testenv.Poll(t, 10*time.Second, "the first write", func() bool {
			info, err := os.Stat(log)
			return err == nil && info.Size() > 0
		})
		w.pause(100 * time.Millisecond)
		for _, v := range victims[:2] {
			if pid, found := v.choose(t, w, s); found {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
					t.Fatal(err)
				}
			}
		}
		s.wait(t)
		said := lastNumber(s.out.String())
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if written := strings.Count(string(content), "\n"); written < said+1 {
			t.Errorf("%d lines were acknowledged, %d are on the host", said+1, written)
		}
		w.do(t, 0, "stop", thread)
	}
}

// lastNumber is the last whole line that is a number, or -1.
func lastNumber(out string) int {
	last := -1
	lines := strings.SplitAfter(out, "\n")
	for _, line := range lines {
		if n, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); err == nil && strings.HasSuffix(line, "\n") {
			last = n
		}
	}
	return last
}
