package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// brief is long enough for a look, and short where a leak is meant to stay.
const brief = 200 * time.Millisecond

func TestNoLeaksPassesOnACleanTest(t *testing.T) {
	r := Record("TestClean", func(t testing.TB) {
		NoLeaks(t, Leaks{Deadline: brief})
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
	})
	if r.Failed {
		t.Errorf("a clean test failed: %s", r.Text())
	}
}

func TestNoLeaksWaitsForBackgroundTeardown(t *testing.T) {
	r := Record("TestSlow", func(t testing.TB) {
		NoLeaks(t, Leaks{Deadline: 10 * time.Second})
		stop := time.NewTimer(10 * pollInterval)
		go func() { <-stop.C }()
	})
	if r.Failed {
		t.Errorf("a goroutine that ended soon was reported: %s", r.Text())
	}
}

func TestNoLeaksReports(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, leak := range map[string]struct {
		do   func(t *testing.T)
		want string
	}{
		"descriptor": {want: "/dev/zero", do: func(t *testing.T) {
			fd, err := unix.Open("/dev/zero", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Close(fd) })
		}},
		"goroutine": {want: "goroutine: ", do: func(*testing.T) {
			go func() { <-release }()
		}},
		"child": {want: "(sleep)", do: func(t *testing.T) {
			startSleep(t, exec.Command("sleep", "1000"))
		}},
		"orphan": {want: "(sleep)", do: func(t *testing.T) {
			// The shell ends at once and its child goes to pid 1.
			out, err := exec.Command("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!").Output()
			if err != nil {
				t.Fatal(err)
			}
			pid := strings.TrimSpace(string(out))
			t.Cleanup(func() { _ = exec.Command("kill", pid).Run() })
		}},
		"zombie": {want: "state Z", do: func(t *testing.T) {
			cmd := exec.Command("true")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Wait() })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Record("TestLeaky", func(tb testing.TB) {
				NoLeaks(tb, Leaks{Deadline: brief})
				leak.do(t)
			})
			if !r.Failed || !strings.Contains(r.Text(), leak.want) {
				t.Errorf("want a message with %q, got %q", leak.want, r.Text())
			}
			r = Record("TestLeaky", func(tb testing.TB) {
				NoLeaks(tb, Leaks{Deadline: brief, Ignore: []string{leak.want}})
				leak.do(t)
			})
			if strings.Contains(r.Text(), leak.want) {
				t.Errorf("what may stay was reported: %q", r.Text())
			}
		})
	}
}

func startSleep(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func TestNoLeaksReportsAMount(t *testing.T) {
	RequireRoot(t)
	dir := t.TempDir()
	mount := func() {
		if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
			t.Fatal(err)
		}
	}
	unmount := func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }
	t.Cleanup(unmount)

	r := Record(t.Name(), func(tb testing.TB) {
		NoLeaks(tb, Leaks{Deadline: brief})
		mount()
	})
	unmount()
	if !r.Failed || !strings.Contains(r.Text(), "tmpfs on "+dir) {
		t.Errorf("a mount in the test's own directory: got %q", r.Text())
	}

	r = Record("TestAnother", func(tb testing.TB) {
		NoLeaks(tb, Leaks{Deadline: brief})
		mount()
	})
	unmount()
	if r.Failed {
		t.Errorf("another test's mount was reported: %q", r.Text())
	}

	r = Record("TestAnother", func(tb testing.TB) {
		NoLeaks(tb, Leaks{Deadline: brief, MountsBelow: []string{filepath.Dir(dir)}})
		mount()
	})
	if !r.Failed {
		t.Error("a mount below a named directory was not reported")
	}
}

func TestNoLeaksReportsACgroup(t *testing.T) {
	RequireRoot(t)
	dir := newCgroup(t)
	if dir == "" {
		Skip(t, "no cgroup hierarchy is writable; mount one at /sys/fs/cgroup")
	}
	name := filepath.Base(dir)
	r := Record("TestCgroup", func(tb testing.TB) {
		NoLeaks(tb, Leaks{Deadline: brief, Cgroups: name})
		if err := os.Mkdir(filepath.Join(dir, "inner"), 0o755); err != nil {
			tb.Fatal(err)
		}
	})
	_ = os.Remove(filepath.Join(dir, "inner"))
	if !r.Failed || !strings.Contains(r.Text(), name+"/inner") {
		t.Errorf("a cgroup was left and not reported: %q", r.Text())
	}
}

func newCgroup(t *testing.T) string {
	t.Helper()
	for _, hierarchy := range []string{"", "memory", "pids", "freezer"} {
		dir, err := os.MkdirTemp(filepath.Join("/sys/fs/cgroup", hierarchy), "sbfs-testenv-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			return dir
		}
	}
	return ""
}

func TestParseStatNames(t *testing.T) {
	rest := " S 7 8 9 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 2"
	for name, want := range map[string]string{"(sh)": "sh", "(a b)": "a b", "(:) )": ":) "} {
		st, ok := parseStat("12 " + name + rest)
		if !ok || st.name != want || st.parent != 7 || st.start != 4242 || st.state != "S" {
			t.Errorf("parseStat of %q = %+v, %v; want the name %q, parent 7, start 4242", name, st, ok, want)
		}
	}
	for _, bad := range []string{"", "1 (x", "1 x) S 1", "1 (x) S", "1 (x) S y" + rest} {
		if _, ok := parseStat(bad); ok {
			t.Errorf("parseStat of %q succeeded", bad)
		}
	}
}
