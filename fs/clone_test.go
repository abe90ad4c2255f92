package fs_test

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"golang.org/x/sys/unix"
)

// A notice waits in the kernel for a directory that a client holds, who waits
// for an answer. When the server is killed in that moment, neither may keep the
// other from ending.
func TestKilledWhileANoticeWaits(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions, Stuck: true}, fs.MountOptions{}, nil)
	work := filepath.Join(m.Dir, "mnt/user-data/workspace")
	if _, err := os.Stat(filepath.Join(work, "f")); !errors.Is(err, unix.ENOENT) {
		t.Fatalf("the name that the kernel is to know: %v", err)
	}
	client := osexec.Command("mkdir", filepath.Join(work, "new"))
	startOn(t, client)
	server := m.cmd.Process.Pid
	testenv.Poll(t, 20*time.Second, "the client's request", func() bool { return waitsIn(client.Process.Pid, "request_wait_answer") })
	if got := m.ask(t, "drop f"); got != "true" {
		t.Fatal("no room for a notice")
	}
	testenv.Poll(t, 20*time.Second, "the notice that waits", func() bool { return waitsIn(server, "fuse_reverse_inval_entry") })
	m.killed = true
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the directory was made, says the client of a server that was killed")
		}
	case <-time.After(20 * time.Second):
		t.Error("the client waits for a server that was killed, and the server for the client")
		// Only an abort of the connection ends them.
		if err := unix.Unmount(m.Dir, unix.MNT_FORCE); err != nil && !errors.Is(err, unix.EBUSY) {
			t.Error(err)
		}
		<-ended
	}
}

// waitsIn reports whether a thread of a process waits in a function of the
// kernel.
func waitsIn(pid int, function string) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
	for _, t := range threads {
		if at, err := os.ReadFile(t); err == nil && strings.TrimSpace(string(at)) == function {
			return true
		}
	}
	return false
}
