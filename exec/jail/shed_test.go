package jail

import (
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestShedLimits burdens a process of its own and has it shed what it can: with
// the capabilities all of it, an ordinary user what the kernel lets everybody
// have back.
func TestShedLimits(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		for _, kind := range []string{"soft", "hard"} {
			cmd := osexec.Command("/proc/self/exe")
			cmd.Args = []string{"jail-test", "burden", kind, "-test.run=^TestShed$", "-test.v", "-test.timeout=60s"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestShed") {
				t.Errorf("%s: %v\n%s", kind, err, out)
			}
		}
	})
}

// TestShed is the burdened process of TestShedLimits.
func TestShed(t *testing.T) {
	kind := os.Getenv(burdened)
	if kind == "" {
		t.Log("nothing to do outside of TestShedLimits")
		return
	}
	get := func(r int) (l unix.Rlimit) {
		if err := unix.Prlimit(0, r, nil, &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	mayRaise, mayNice := has(t, unix.CAP_SYS_RESOURCE), has(t, unix.CAP_SYS_NICE)
	stack := get(unix.RLIMIT_STACK)
	ShedLimits()
	for _, r := range []int{unix.RLIMIT_FSIZE, unix.RLIMIT_CPU, unix.RLIMIT_NPROC} {
		l := get(r)
		if l.Cur != l.Max {
			t.Errorf("%s: the soft limit is %d, the hard one %d", limitNames[r], l.Cur, l.Max)
		}
		if mayRaise && l.Max != unix.RLIM_INFINITY {
			t.Errorf("%s: still limited to %d", limitNames[r], l.Max)
		}
	}
	if kind == "soft" && get(unix.RLIMIT_STACK) != stack {
		t.Errorf("the stack's limit was %v, is %v", stack, get(unix.RLIMIT_STACK))
	}
	if !mayNice {
		return
	}
	if b, err := os.ReadFile("/proc/self/oom_score_adj"); err != nil || strings.TrimSpace(string(b)) != "0" {
		t.Errorf("oom_score_adj %q, %v", b, err)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) < 2 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, th := range threads {
		tid, _ := strconv.Atoi(th.Name())
		if n, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err != nil || n != 20 { // 20 minus the nice value
			t.Errorf("thread %d: nice value %d, %v", tid, 20-n, err)
		}
	}
}

func has(t *testing.T, capability int) bool {
	t.Helper()
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[capability/32].Effective&(1<<(capability%32)) != 0
}
