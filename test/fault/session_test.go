package fault

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// TestKillUnderSession kills each kind of process while a session's command
// runs. The next command of the session works, and says what became of it.
func TestKillUnderSession(t *testing.T) {
	testenv.RequireRoot(t) // to see the processes of a sandbox
	for _, v := range victims[:3] {
		t.Run(v.name, func(t *testing.T) {
			w := newWorld(t, "")
			for range min(*rounds, 3) {
				w.do(t, 0, "exec", "--session", "s", "demo", "--", "export x=kept")
				s := w.start(t, "exec", "--session", "s", "demo", "--", "touch up; sleep 600 & "+strings.Replace(work, "wait; ", "", 1)+"; sleep 600")
				testenv.Poll(t, 20*time.Second, "the command", func() bool {
					return strings.Contains(w.sh(t, "demo", "ls"), "up")
				})
				pid, found := v.choose(t, w, s)
				if !found {
					t.Fatalf("there is no %s", v.name)
				}
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
					t.Fatal(err)
				}
				// A slot may be another command's: then the session lives.
				if v.name == "slot" {
					w.do(t, 0, "sessions", "--close", "s", "demo")
				}
				t.Logf("the command line ended with %d: %s", s.wait(t), strings.TrimSpace(s.out.String()))
				next := w.start(t, "exec", "--session", "s", "demo", "--", "echo next")
				if status := next.wait(t); status != 0 || !strings.Contains(next.out.String(), "next\n") || !strings.Contains(next.out.String(), "sandboxfs: session s: ") {
					t.Errorf("the next command: status %d, %q", status, next.out.String())
				}
				w.do(t, 0, "stop", "demo")
				w.sh(t, "demo", "rm -f up")
				w.do(t, 0, "stop", "demo")
				w.expectClean(t)
			}
		})
	}
}
