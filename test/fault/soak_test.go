package fault

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// soon is how long a thread may be out of reach after its server was killed.
// On a busy machine a few times may be longer, and the short form, which runs
// beside other tests, says nothing of it.
const soon = 2 * time.Second

// expectSoon judges the times of all rounds.
func expectSoon(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	longest := took[len(took)-1]
	t.Logf("%s, %d times: half of them within %v, 9 of 10 within %v, all within %v",
		what, len(took), took[len(took)/2], took[len(took)*9/10], longest)
	if most := took[len(took)*9/10]; len(took) >= 50 && most > soon {
		t.Errorf("%s: 9 of 10 within %v, want %v", what, most, soon)
	}
}

// TestSoakKilledServer kills the server of a mount at random moments under
// load. What was acknowledged is on the host byte for byte, the next mount
// comes soon, and no mount is left.
func TestSoakKilledServer(t *testing.T) {
	testenv.RequireRoot(t)
	for _, form := range []struct {
		name, quota string
		rounds      int
	}{{"passthrough", "", testenv.Soak(5, 200)}, {"quota", "1GiB", testenv.Soak(5, 60)}} {
		t.Run(form.name, func(t *testing.T) {
			t.Setenv("SANDBOXFS_QUOTA_BYTES", form.quota)
			w := newWorld(t, "")
			point := filepath.Join(t.TempDir(), "point")
			if err := os.Mkdir(point, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.do(t, 0, "umount", "--all", "--lazy") })
			var took []time.Duration
			for round := range form.rounds {
				took = append(took, w.killServer(t, point, round))
				if t.Failed() {
					t.Fatalf("in round %d", round)
				}
			}
			expectSoon(t, "the next mount", took)
			w.do(t, 0, "mount", "t", point)
			w.do(t, 0, "umount", point)
			w.expectClean(t)
		})
	}
}

// killServer is one round. It returns how long the mount took.
func (w *world) killServer(t *testing.T, point string, round int) time.Duration {
	t.Helper()
	begun := time.Now()
	var m struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(w.do(t, 0, "mount", "--json", "t", point)), &m); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	if got := strings.Count(mountinfo(t), " "+point+" "); got != 1 {
		t.Errorf("%d mounts are at the mount point", got)
	}
	const dir = "user-data/workspace"
	name := fmt.Sprint("round", round)
	mount := filepath.Join(point, "mnt", dir, name)
	host := filepath.Join(w.home, "users/default/threads/t", dir, name)
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	all := startWriters(t, mount, host, w.random.Uint64())
	all.begun.Wait()
	w.pause(60 * time.Millisecond)
	all.killed.Store(true)
	if err := syscall.Kill(m.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.pause(20 * time.Millisecond) // open files with passthrough outlive it
	all.end(t)
	if err := os.RemoveAll(host); err != nil {
		t.Fatal(err)
	}
	if round%2 == 0 {
		if got := w.do(t, 0, "gc", "--json"); !strings.Contains(got, `"removed":"mount"`) {
			t.Errorf("gc said %q", got)
		}
		if strings.Contains(mountinfo(t), " "+point+" ") {
			t.Error("a stale mount is left")
		}
	}
	return took
}

// TestSoakKilledKeeper kills the keeper of one thread again and again under
// commands that write. Each line that a command said it had written is on the
// host, in order, and the next command runs soon.
func TestSoakKilledKeeper(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t, "")
	workspace := filepath.Join(w.home, "users/default/threads/t/user-data/workspace")
	var took []time.Duration
	for round := range testenv.Soak(5, 200) {
		begun := time.Now()
		w.sh(t, "t", "true")
		took = append(took, time.Since(begun))
		var all []*started
		for i := range 3 {
			script := fmt.Sprintf(`for ((i = 0; ; i++)); do line="%d-$i-$RANDOM$RANDOM"; echo "$line" >>log%d && echo "$line"; done`, round, i)
			all = append(all, w.start(t, "exec", "t", "--", "bash", "-c", script))
		}
		w.pause(250 * time.Millisecond)
		// A command that had not begun makes another sandbox, and writes there.
		testenv.Poll(t, deadline/2, "the commands to end with their keeper", func() bool {
			if keeper, found := pick(w.ours(t), func(p hostview.Process) bool { return p.Depth == 0 }); found {
				_ = syscall.Kill(keeper, syscall.SIGKILL) // it may have ended by now
			}
			return !slices.ContainsFunc(all, (*started).running)
		})
		for i, s := range all {
			s.wait(t)
			file := filepath.Join(workspace, fmt.Sprint("log", i))
			log, err := os.ReadFile(file)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if said := wholeLines(s.out.String(), fmt.Sprint(round, "-")); !strings.HasPrefix(string(log), said) {
				t.Fatalf("round %d, command %d: what was acknowledged is not on the host:\n%s\nbut\n%s", round, i, said, log)
			}
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	expectSoon(t, "the next command", took)
}

// wholeLines are the whole lines of a command's output that begin so; the
// last may be cut, and errors may follow.
func wholeLines(out, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, prefix) && strings.HasSuffix(line, "\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestSoakManyMounts mounts many threads at once and says what they take.
// Nothing is left when they are unmounted.
func TestSoakManyMounts(t *testing.T) {
	testenv.RequireRoot(t)
	w := newWorld(t, "")
	points := t.TempDir()
	t.Cleanup(func() { w.do(t, 0, "umount", "--all", "--lazy") })
	count := testenv.Soak(12, 256)
	for i := range count {
		point := filepath.Join(points, fmt.Sprint(i))
		if err := os.Mkdir(point, 0o755); err != nil {
			t.Fatal(err)
		}
		w.do(t, 0, "mount", fmt.Sprint("t", i), point)
		file := filepath.Join(point, "mnt/user-data/workspace/f")
		if err := os.WriteFile(file, []byte(fmt.Sprint(i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		file := filepath.Join(points, fmt.Sprint(i), "mnt/user-data/workspace/f")
		if got, err := os.ReadFile(file); err != nil || string(got) != fmt.Sprint(i) {
			t.Errorf("thread %d: %q, %v", i, got, err)
		}
	}
	servers := w.ours(t)
	if len(servers) != count {
		t.Errorf("%d servers for %d mounts", len(servers), count)
	}
	var sum int64
	for _, p := range servers {
		n, err := hostview.Private(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	t.Logf("%d mounts take %d KiB of private memory, %d KiB each", count, sum>>10, sum>>10/int64(count))
	w.do(t, 0, "umount", "--all")
	w.expectClean(t)
}
