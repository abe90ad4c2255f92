package jail

import (
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// burdened marks the test process that runs under limits, soft or hard.
const burdened = "JAIL_TEST_BURDENED"

// burden puts limits on this process and executes the tests in it.
func burden(args []string) error {
	runtime.LockOSThread() // priority and processors belong to a thread
	for r, n := range map[int]uint64{
		unix.RLIMIT_FSIZE: 10 << 10, unix.RLIMIT_CPU: 100, unix.RLIMIT_NOFILE: 256, unix.RLIMIT_STACK: 1 << 20, unix.RLIMIT_NPROC: 300,
	} {
		l := unix.Rlimit{Cur: n, Max: n}
		if args[0] == "soft" {
			var old unix.Rlimit
			if err := unix.Getrlimit(r, &old); err != nil {
				return err
			}
			l.Max = old.Max
		}
		if err := unix.Setrlimit(r, &l); err != nil {
			return err
		}
	}
	one := unix.CPUSet{}
	one.Set(0)
	for _, err := range []error{
		unix.Setpriority(unix.PRIO_PROCESS, 0, 7), unix.SchedSetaffinity(0, &one),
		os.WriteFile("/proc/self/oom_score_adj", []byte("321"), 0),
	} {
		if err != nil {
			return err
		}
	}
	unix.Umask(0o077)
	os.Setenv(burdened, args[0])
	return unix.Exec("/proc/self/exe", append([]string{"jail.test"}, args[1:]...), os.Environ())
}

// What the process that starts a sandbox is limited to does not stick to the
// sandbox; what an ordinary user's process cannot shed is told.
func TestInheritedLimits(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		for _, kind := range []string{"soft", "hard"} {
			cmd := osexec.Command("/proc/self/exe")
			cmd.Args = []string{"jail-test", "burden", kind, "-test.run=^TestUnderLimits$", "-test.v", "-test.timeout=60s"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestUnderLimits") {
				t.Errorf("%s: %v\n%s", kind, err, out)
			}
		}
	})
}

// privileged reports whether this process holds a capability: root in a
// container lacks some.
func privileged(c int) bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[c/32].Effective&(1<<(c%32)) != 0
}

func TestUnderLimits(t *testing.T) {
	if os.Getenv(burdened) == "" {
		testenv.RunsElsewhere(t, "a process with limits, started by TestInheritedLimits")
	}
	hard := os.Getenv(burdened) == "hard"
	if !hard { // the keeper does so too
		ShedLimits()
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l); err != nil || l.Cur != unix.RLIM_INFINITY {
			t.Errorf("the process itself has not shed its limits: %+v %v", l, err)
		}
	}
	b := startBox(t, nil)
	script := `ulimit -f; ulimit -t; ulimit -Ss; umask; ulimit -Sn; ulimit -Hn; nice; grep -c . /etc/passwd >/dev/null; exec 2>/dev/null; head -c 20000 /dev/zero >/tmp/f && stat -c %s /tmp/f`
	got := strings.Split(b.sh(t, script), "\n")
	left := b.Isolation()["limits_inherited"]
	want := []string{"unlimited", "unlimited", "8192", "0022", "1024", "4096", "0", "20000"}
	var told []string
	if hard && !privileged(unix.CAP_SYS_RESOURCE) {
		want = []string{"10", "100", "1024", "0022", "256", "256", "0", ""}
		told = append(told, "fsize 10240", "cpu 100", "nproc 300", "stack 1048576", "nofile 256")
	}
	if !privileged(unix.CAP_SYS_NICE) {
		want[6] = "7"
		told = append(told, "nice value 7")
	}
	// An ordinary user can shed this one only before pid 1 is non-dumpable, so it
	// may be there or not.
	if strings.Join(told, ", ") != strings.TrimSuffix(left, ", oom_score_adj 321") {
		t.Errorf("told as inherited:\nwant %q\n got %q", told, left)
	}
	got = append(got, "", "")[:len(want)]
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s\nwant %q\n got %q", script, want, got)
	}
	if os.Geteuid() == 0 {
		if adj := b.sh(t, "cat /proc/1/oom_score_adj"); adj != "0" {
			t.Errorf("oom_score_adj %s", adj)
		}
	}
	var all unix.CPUSet
	if unix.SchedGetaffinity(1, &all) == nil && all.Count() > 1 { // that of the host's first process
		if n := b.sh(t, "nproc"); n == "1" {
			t.Errorf("%s processor", n)
		}
	}
}
