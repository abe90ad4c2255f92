package rundir_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
)

func newRoot(t *testing.T) *rundir.Root {
	t.Helper()
	root, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestOpenRefusesWhatOthersCanWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Open(path); err == nil || !strings.Contains(err.Error(), "others can write") {
		t.Errorf("Open = %v, want the reason", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Open(link); err == nil {
		t.Error("a symlink was taken for the runtime directory")
	}
}

func TestNamesDiffer(t *testing.T) {
	root := newRoot(t)
	seen := map[string]string{}
	for name, d := range map[string]*rundir.Dir{
		"plain":        root.Sandbox("/h", "local", mapping.Key{Thread: "t"}),
		"other home":   root.Sandbox("/g", "local", mapping.Key{Thread: "t"}),
		"other kind":   root.Sandbox("/h", "aio", mapping.Key{Thread: "t"}),
		"other user":   root.Sandbox("/h", "local", mapping.Key{User: "u", Thread: "t"}),
		"other thread": root.Sandbox("/h", "local", mapping.Key{Thread: "u"}),
		"generic":      root.Sandbox("/h", "local", mapping.Key{}),
	} {
		if other, dup := seen[d.Name()]; dup {
			t.Errorf("%s and %s have one name", name, other)
		}
		seen[d.Name()] = name
	}
	same := root.Sandbox("/h", "local", mapping.Key{User: mapping.DefaultUser, Thread: "t"})
	if seen[same.Name()] != "plain" {
		t.Error("the default user's name depends on how it is written")
	}
}

// Makers and removers of one directory must never both believe that they
// hold it.
func TestLockAgainstRemove(t *testing.T) {
	root := newRoot(t)
	dir := root.Sandbox("/h", "local", mapping.Key{Thread: "t"})
	ctx := deadline(t)
	var holders, done atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				lock, err := dir.Lock(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				done.Add(1)
				holders.Add(-1)
				if i%2 == 0 {
					lock.Unlock()
				} else if err := lock.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if done.Load() != 400 {
		t.Errorf("%d of 400 had their turn", done.Load())
	}
}

func TestLockGivesUpWithItsContext(t *testing.T) {
	dir := newRoot(t).Sandbox("/h", "local", mapping.Key{Thread: "t"})
	lock, err := dir.Lock(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := dir.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock = %v", err)
	}
	if !dir.Locked() {
		t.Error("a held lock is not seen")
	}
	if l, err := dir.TryLock(); l != nil || err != nil {
		t.Errorf("TryLock = %v, %v", l, err)
	}
}

// holderEnv makes the test program hold a sandbox's record lock, as a keeper
// does, until its standard input ends.
const holderEnv = "SANDBOXFS_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holderEnv); path != "" {
		hold(path)
	}
	os.Exit(m.Run())
}

func hold(path string) {
	root, err := rundir.Open(filepath.Dir(path))
	if err == nil {
		var d *rundir.Dir
		if d, err = root.Named(filepath.Base(path)); err == nil {
			_, err = d.HoldAlive()
		}
	}
	if err != nil {
		os.Stdout.WriteString("error " + err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("held\n")
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func startHolder(t *testing.T, d *rundir.Dir) (*osexec.Cmd, string) {
	t.Helper()
	cmd := osexec.CommandContext(deadline(t), "/proc/self/exe")
	cmd.Env = append(os.Environ(), holderEnv+"="+d.Path())
	in, _ := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	return cmd, line
}

func TestKeeperIsWhoTheKernelSays(t *testing.T) {
	dir := newRoot(t).Sandbox("/h", "local", mapping.Key{Thread: "t"})
	if pid := dir.Keeper(); pid != 0 {
		t.Fatalf("a keeper %d of nothing", pid)
	}
	lock, err := dir.Lock(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	holder, line := startHolder(t, dir)
	if line != "held\n" {
		t.Fatalf("the holder said %q", line)
	}
	if pid := dir.Keeper(); pid != holder.Process.Pid {
		t.Errorf("Keeper = %d, want %d", pid, holder.Process.Pid)
	}
	if _, line := startHolder(t, dir); !strings.HasPrefix(line, "error") {
		t.Errorf("a second keeper said %q", line)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := dir.WaitDead(deadline(t)); err != nil {
		t.Error("a killed keeper still counts:", err)
	}
}

func TestSocketWithALongPath(t *testing.T) {
	root, err := rundir.Open(filepath.Join(t.TempDir(), strings.Repeat("x", 200)))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	dir := root.Sandbox("/h", "local", mapping.Key{Thread: "t"})
	lock, err := dir.Lock(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	for range 2 { // the second takes the place of a dead one
		f, err := dir.Listen()
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.FileListener(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := dir.Dial(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		ln.Close()
	}
	if _, err := dir.Dial(deadline(t)); err == nil {
		t.Error("connected to a socket that nobody serves")
	}
}

func TestClaimedUIDsDiffer(t *testing.T) {
	root := newRoot(t)
	dir := root.Sandbox("/h", "local", mapping.Key{Thread: "t"})
	seen := map[uint32]bool{}
	for range 5 {
		uid, f, err := dir.ClaimUID()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if seen[uid] || uid < 0x70000000 || uid >= 0x7FFFFFFF {
			t.Errorf("uid %#x", uid)
		}
		seen[uid] = true
	}
}

func TestState(t *testing.T) {
	dir := newRoot(t).Sandbox("/h", "local", mapping.Key{Thread: "t"})
	if _, err := dir.ReadState(); err == nil {
		t.Error("read the state of nothing")
	}
	lock, err := dir.Lock(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteState(rundir.State{ID: "local:t", Home: "/h"}); err != nil {
		t.Fatal(err)
	}
	if st, err := dir.ReadState(); err != nil || st.ID != "local:t" {
		t.Errorf("ReadState = %+v, %v", st, err)
	}
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Path()); !os.IsNotExist(err) {
		t.Error("the directory is left:", err)
	}
}
