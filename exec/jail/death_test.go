package jail

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

// keeperPart starts a jail, prints the host's number of its pid 1 and waits to
// be killed.
func keeperPart(args []string) error {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(args[0], "s"), Net: "unix"})
	if err != nil {
		return err
	}
	f, err := ln.File()
	if err != nil {
		return err
	}
	s := Spec{Tier: Isolated, Net: NetNone, HostUID: testUID, HostGID: testUID, Name: args[1],
		TreeDirs: []string{"/mnt"}, Listener: f, Extra: []byte(args[2])}
	if os.Geteuid() != 0 {
		s.HostUID, s.HostGID = uint32(os.Geteuid()), uint32(os.Getegid())
	}
	s.Serve = func(f *os.File) error {
		uid, gid := TreeOwner(s)
		srv, err := fuse.NewServer(gofs.NewNodeFS(&memTree{}, &gofs.Options{UID: uid, GID: gid}), fmt.Sprintf("/dev/fd/%d", f.Fd()), nil)
		if err != nil {
			return err
		}
		go srv.Serve()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	j, err := Start(ctx, s)
	if err != nil {
		return err
	}
	fmt.Println("pid", j.Pid())
	return j.Wait()
}

// TestKeeperKilled kills the keeper and wants the sandbox to end by itself,
// and its cgroup to be found and removed by name. A guest that does not listen
// for the keeper's end is ended by the kernel.
func TestKeeperKilled(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		t.Run("listening", func(t *testing.T) { keeperKilled(t, "listening") })
		t.Run("deaf", func(t *testing.T) { keeperKilled(t, "deaf") })
	})
}

// TestGuestSeesTheEnd closes the keeper's end of the socket alone.
func TestGuestSeesTheEnd(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		b := startBox(t, nil)
		b.control.Close()
		select {
		case <-b.Done():
		case <-time.After(5 * time.Second):
			t.Fatal("the guest did not notice")
		}
		if err := b.Wait(); err != nil {
			t.Errorf("the guest's own exit: got %v", err)
		}
	})
}

func keeperKilled(t *testing.T, extra string) {
	dir, name := t.TempDir(), fmt.Sprintf("killed-%d", os.Getpid())
	before := mounts(t)
	cmd := osexec.Command("/proc/self/exe")
	cmd.Args = []string{"jail-test", "keeper", dir, name, extra}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid ")))
	if err != nil {
		t.Fatalf("the keeper said %q", line)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	cmd.Process.Kill()
	cmd.Wait()
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 5000)
	if n != 1 {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		t.Fatalf("pid 1 outlives its keeper: %v", err)
	}
	if after := mounts(t); after != before {
		t.Errorf("mounts before:\n%s\nafter:\n%s", before, after)
	}
	left, err := cgroup.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && !slices.Contains(left, name) {
		t.Logf("no cgroup was left: %v", left)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := cgroup.Remove(ctx, name); err != nil {
		t.Error(err)
	}
	if left, _ := cgroup.Leftovers(); slices.Contains(left, name) {
		t.Errorf("still there: %v", left)
	}
}

// mounts returns the trees that this process sees where a sandbox has its own.
// (Tests of other packages mount trees elsewhere at the same time.)
func mounts(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 4 && strings.Contains(line, "fuse.sandboxfs") && (f[4] == "/" || underAny(f[4], []string{"/mnt"})) {
			out = append(out, f[3]+" "+f[4])
		}
	}
	return strings.Join(out, "\n")
}

// count returns how many descriptors and children this process has.
func count(t testing.TB) (fds, children int) {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		children += len(strings.Fields(string(b)))
	}
	return len(e), children
}

// TestNothingLeft starts and ends sandboxes, good and bad ones, and compares
// descriptors, children, mounts and cgroups.
func TestNothingLeft(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		name := fmt.Sprintf("left-%d", os.Getpid())
		cycle := func(t *testing.T) {
			b := startBox(t, func(s *Spec) { s.Name = name })
			b.sh(t, "sleep 1000 >/dev/null 2>&1 & echo x >/tmp/x")
			b.Close()
			for _, bad := range []func(*Spec){
				func(s *Spec) { s.Program = "/bin/true"; s.Name = name },
				func(s *Spec) { s.Program = "/nonexistent"; s.Name = name },
				func(s *Spec) { s.ReadOnly = []string{"/mnt/absent"}; s.Name = name },
				func(s *Spec) {
					s.Name = name
					s.Serve = func(f *os.File) error { f.Close(); return os.ErrInvalid }
				},
			} {
				startBad(t, bad)
			}
		}
		t.Run("warm up", cycle)
		fds, children := count(t)
		before := mounts(t)
		for i := range 3 {
			t.Run(strconv.Itoa(i), cycle)
		}
		f, c := count(t)
		if f > fds {
			t.Errorf("descriptors: %d before, %d after", fds, f)
		}
		if c != children {
			t.Errorf("children: %d before, %d after", children, c)
		}
		if m := mounts(t); m != before {
			t.Errorf("mounts before:\n%s\nafter:\n%s", before, m)
		}
		left, err := cgroup.Leftovers()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(left, name) {
			t.Errorf("cgroup left: %v", left)
		}
	})
}
