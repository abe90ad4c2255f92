package jail

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/cgroup"
)

// bomb forks until it is refused and says so.
const bomb = `exec 2>&1
python3 -c '
import os,time,signal
pids=[]
try:
    while len(pids)<5000:
        p=os.fork()
        if p==0:
            time.sleep(100); os._exit(0)
        pids.append(p)
    print("unbounded")
except OSError as e: print("refused", e.errno)
for p in pids: os.kill(p, signal.SIGKILL); os.waitpid(p, 0)
'`

func TestTaskLimit(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		for _, name := range []string{"", fmt.Sprintf("tasks-%d", os.Getpid())} {
			b := startBox(t, func(s *Spec) { s.Name = name; s.Limits.Pids = 64 })
			t.Log(b.Isolation()["limits"], "|", b.Isolation()["cgroup"])
			began := time.Now()
			if got := b.sh(t, bomb); !strings.Contains(got, "refused 11") {
				t.Errorf("name %q: want EAGAIN, got %q", name, got)
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
			b.Close()
		}
	})
}

// TestTmpLimit fills every writable place outside the tree; one number bounds
// them all.
func TestTmpLimit(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		b := startBox(t, func(s *Spec) { s.TmpBytes = 8 << 20 })
		got := b.sh(t, `exec 2>&1; export LC_ALL=C
for d in /tmp /var/tmp /dev/shm /run; do dd if=/dev/zero of=$d/big bs=1M count=100 2>&1 | grep -o 'No space left'; done
du -cm /tmp /var/tmp /dev/shm /run | tail -1 | cut -f1
rm -f /tmp/big /var/tmp/big /dev/shm/big /run/big
i=0; while [ $i -lt 20000 ] && : >/tmp/f$i; do i=$((i+1)); done 2>/dev/null; [ $i -lt 5000 ] && echo bounded`)
		if !regexp.MustCompile(`^(No space left\n){4}[1-8]\nbounded$`).MatchString(got) {
			t.Errorf("got:\n%s", got)
		}
	})
}

// TestSharedMemoryLimit makes System V segments until that is refused: they stay
// when their maker has ended.
func TestSharedMemoryLimit(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		b := startBox(t, func(s *Spec) { s.TmpBytes = 8 << 20 })
		how := b.Isolation()["sysv_ipc"]
		if os.Geteuid() != 0 || strings.HasPrefix(how, "unbounded: read-only") { // a container's /proc/sys
			if !strings.HasPrefix(how, "unbounded: ") {
				t.Errorf("told: %q", how)
			}
			return
		}
		got := b.sh(t, `exec 2>&1; ipcmk -M 9000000; n=0; while [ $n -lt 20 ] && ipcmk -M 1048576 >/dev/null; do n=$((n+1)); done; echo made $n; ipcs -m | grep -c 1048576`)
		if !regexp.MustCompile(`(?s)failed.*made 8\n8$`).MatchString(got) {
			t.Errorf("%s: %s", how, got)
		}
		if host, err := os.ReadFile("/proc/sys/kernel/shmall"); err != nil || strings.TrimSpace(string(host)) == "2048" {
			t.Errorf("the host's bound is %s (%v)", host, err)
		}
	})
}

// raceEnabled says that the race detector is built in.
var raceEnabled bool

// TestMemoryLimit has one process take more memory than the sandbox may have,
// and tmpfs files count.
func TestMemoryLimit(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		if raceEnabled && os.Geteuid() != 0 {
			t.Log("not under the race detector: its shadow memory does not fit into the resource limit")
			return
		}
		b := startBox(t, func(s *Spec) {
			s.Name = fmt.Sprintf("memory-%d", os.Getpid())
			s.Limits = cgroup.Limits{Memory: 64 << 20}
			s.TmpBytes = 512 << 20
		})
		how := b.Isolation()["limits"]
		t.Log(how)
		if got := b.sh(t, `exec 2>&1; python3 -c 'x=bytearray(300<<20); x[::4096]=b"x"*len(x[::4096])'; echo rc=$?`); strings.Contains(got, "rc=0") {
			t.Errorf("300 MiB were had: %s", got)
		}
		if strings.Contains(how, "memory by cgroup") {
			got := b.sh(t, `exec 2>&1; dd if=/dev/zero of=/tmp/big bs=1M count=200; echo rc=$?; stat -c %s /tmp/big; rm /tmp/big`)
			if strings.Contains(got, "rc=0") {
				t.Errorf("tmpfs took 200 MiB: %s", got)
			}
		}
		if got := b.sh(t, "echo alive"); got != "alive" {
			t.Errorf("the guest is gone: %q", got)
		}
	})
}
