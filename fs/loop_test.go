package fs_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
)

// stuckQuota counts nothing, and makes nothing until its gate is open.
type stuckQuota struct{ gate chan struct{} }

func (q stuckQuota) Make(_ int, mode uint32, _ int64, act func() unix.Errno) unix.Errno {
	if mode&unix.S_IFMT == unix.S_IFDIR {
		<-q.gate
	}
	return act()
}

func (stuckQuota) Write(_, _ uint64, _ int, _ func(int64) int64, act func(int64) unix.Errno) unix.Errno {
	return act(1 << 40)
}

func (stuckQuota) Resize(_, _ uint64, _ int, _ func(int64) int64, act func() unix.Errno) unix.Errno {
	return act()
}

func (stuckQuota) Nameless(act func() (int, unix.Errno)) unix.Errno {
	_, e := act()
	return e
}
func (stuckQuota) Link(_, _ int, act func() unix.Errno) unix.Errno           { return act() }
func (stuckQuota) Unname(_ int, _ string, act func() unix.Errno) unix.Errno  { return act() }
func (stuckQuota) Move(_, _ int, _ string, act func() unix.Errno) unix.Errno { return act() }
func (stuckQuota) Exchange(_, _ int, act func() unix.Errno) unix.Errno       { return act() }
func (stuckQuota) Opened(_, _ uint64, _ int)                                 {}
func (stuckQuota) Closed(_, _ uint64, _ int)                                 {}
func (stuckQuota) Usage() (bytes, files, maxBytes, maxFiles int64)           { return 0, 0, 0, 0 }

// Requests that do not end stop nobody else, also when there are more of them
// than there are readers, and a signal to who waits for one does not either.
func TestSlowRequestsStopNobody(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, Stuck: true}, fs.MountOptions{}, nil)
	work := filepath.Join(m.Dir, "mnt/user-data/workspace")
	outputs := filepath.Join(m.Dir, "mnt/user-data/outputs")
	const stuck = 20
	var clients []*osexec.Cmd
	for i := range stuck {
		// Directories of their own: one would let in one maker at a time.
		dir := fmt.Sprint(i)
		if err := os.Mkdir(filepath.Join(w.host(t, "/mnt/user-data/workspace"), dir), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := osexec.Command("mkdir", filepath.Join(work, dir, "new"))
		cmd.Stderr = os.Stderr
		startOn(t, cmd)
		clients = append(clients, cmd)
	}
	beat := func(what string) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 300 {
				name := filepath.Join(outputs, fmt.Sprint(what, i))
				if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(name); err != nil || string(got) != name {
					t.Errorf("%q, %v", got, err)
				}
				if _, err := os.ReadDir(outputs); err != nil {
					t.Error(err)
				}
			}
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: other requests wait for those that are stuck", what)
		}
	}
	beat("beside")
	for _, c := range clients[:stuck/2] {
		c.Process.Signal(syscall.SIGTERM)
	}
	beat("interrupted")
	for i := range stuck {
		if _, err := os.Stat(filepath.Join(w.host(t, "/mnt/user-data/workspace"), fmt.Sprint(i), "new")); err == nil {
			t.Fatal("a request was not stuck: the test shows nothing")
		}
	}
	m.ask(t, "go on")
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			if err := c.Wait(); err != nil && i >= stuck/2 {
				t.Errorf("a request that was stuck: %v", err)
			}
		})
	}
	all.Wait()
	beat("after")
}
