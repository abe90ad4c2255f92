package fault

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// TestKillTheMountAtAnyMoment kills the server of a mount, or who asks for it,
// while it is made, while it is used and while it is ended. Whatever became of
// it: gc, or the next mount at its place, leaves nothing of it, and what was
// written is there.
func TestKillTheMountAtAnyMoment(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t, "")
	point := filepath.Join(t.TempDir(), "point")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.do(t, 0, "umount", "--all", "--lazy") })
	w.sh(t, "t", "echo 0 >f")
	w.do(t, 0, "stop", "t")
	file := filepath.Join(point, "mnt/user-data/workspace/f")
	for round := range *rounds * 3 {
		victim := []string{"server", "command line", "both"}[round%3]
		var verb []string
		if round%2 == 0 {
			verb = []string{"mount", "t", point}
		} else {
			w.do(t, 0, "mount", "t", point)
			verb = []string{"umount", point}
		}
		s := w.start(t, verb...)
		w.pause(60 * time.Millisecond)
		if victim != "server" && s.running() {
			_ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGKILL) // it may have ended by now
		}
		if victim != "command line" {
			if pid, ok := pick(w.ours(t), func(hostview.Process) bool { return true }); ok {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				testenv.Poll(t, 10*time.Second, "the killed server to end", func() bool {
					_, lives := pick(w.ours(t), func(p hostview.Process) bool { return p.PID == pid })
					return !lives
				})
			}
		}
		t.Logf("%v, killed: %s; ended with %d: %s", verb, victim, s.wait(t), strings.TrimSpace(s.out.String()))
		if round%4 < 2 {
			w.do(t, 0, "gc")
		}
		w.do(t, 0, "mount", "t", point)
		if got, err := os.ReadFile(file); err != nil || string(got) != "0\n" {
			t.Fatalf("round %d, the next mount: %q, %v", round, got, err)
		}
		w.do(t, 0, "umount", point)
		if got := w.do(t, 0, "gc", "--json"); got != "" {
			t.Errorf("round %d: gc found something after umount: %s", round, got)
		}
		if left, _ := os.ReadDir(point); len(left) > 0 {
			t.Fatalf("round %d: something is at the mount point after umount", round)
		}
	}
	w.expectNoneOfUs(t)
}

// TestKillTheMountInUse kills the server while a client writes. Every write
// that was acknowledged is in the thread's directory, and gc cleans up around
// a client that still holds the dead mount.
func TestKillTheMountInUse(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t, "")
	point := filepath.Join(t.TempDir(), "point")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.do(t, 0, "umount", "--all", "--lazy") })
	var m struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(w.do(t, 0, "mount", "--json", "t", point)), &m); err != nil {
		t.Fatal(err)
	}
	name := "mnt/user-data/outputs/log"
	f, err := os.OpenFile(filepath.Join(point, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Kill(m.PID, syscall.SIGKILL) })
	written := 0
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); written++ {
		if _, err := f.WriteString("line\n"); err != nil {
			break
		}
	}
	onDisk, err := os.ReadFile(filepath.Join(w.home, "users/default/threads/t/user-data/outputs/log"))
	if err != nil || len(onDisk) < written*len("line\n") {
		t.Errorf("%d bytes are on disk, %d lines were acknowledged; %v", len(onDisk), written, err)
	}
	testenv.Poll(t, 10*time.Second, "the server to end", func() bool { return len(w.ours(t)) == 0 })
	if got := w.do(t, 0, "gc", "--json"); !strings.Contains(got, `"removed":"mount"`) {
		t.Errorf("gc said %q", got)
	}
	if left, err := os.ReadDir(point); err != nil || len(left) > 0 {
		t.Errorf("at the mount point after gc: %v, %v", left, err)
	}
}
