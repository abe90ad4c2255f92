package exec

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec/procmask"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

func TestSandboxWhatACommandHas(t *testing.T) {
	e := executor(t)
	// A descriptor without close-on-exec in the guest must not arrive.
	leak, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	clearCloseOnExec(t, leak)
	for _, tt := range []struct{ name, script, want string }{
		{"capabilities", "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | awk '{print $2}' | sort -u", "0000000000000000\n"},
		{"filter and no_new_privs", "awk '/^(Seccomp|NoNewPrivs):/{print $1 $2}' /proc/self/status", "NoNewPrivs:1\nSeccomp:2\n"},
		{"signals", "awk '/^Sig(Blk|Ign):/{print $1 $2}' /proc/self/status", "SigBlk:0000000000000000\nSigIgn:0000000000000000\n"},
		{"descriptors", "exec ls /proc/self/fd", "0\n1\n2\n3\n"}, // 3 is the directory that ls reads
		{"umask", "umask", "0022\n"},
		{"environment", "env -u PWD -u OLDPWD -u SHLVL -u _ | sort", "HOME=/tmp\nLC_ALL=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\n"},
		{"session of its own", "set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ] && echo leader", "leader\n"},
		{"id", "id -u; id -g", "1000\n1000\n"},
		{"standard streams", "readlink /proc/self/fd/0; readlink /proc/self/fd/1 | cut -c1-5", "/dev/null\npipe:\n"},
		{"output by name", "echo x > /dev/stdout; echo y > /dev/stderr", "x\n"},
		{"process substitution", "cat <(echo sub)", "sub\n"},
		{"signals by default", "sleep 100 & kill %1; wait $!; echo $?", "143\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if o := run(t, e, script(tt.script)); o.stdout != tt.want {
				t.Errorf("%s\nwant %q\n got %q %q", tt.script, tt.want, o.stdout, o.stderr)
			}
		})
	}
}

func TestSandboxProcIsCovered(t *testing.T) {
	if inSandbox(t) != "namespace" {
		testenv.SkipArchitectural(t, "without pid namespaces slots have the guest's /proc")
	}
	e := executor(t)
	for _, name := range procmask.Files() {
		if o := run(t, e, script("! [ -e /proc/"+name+" ] || cat /proc/"+name)); o.stdout != "" || o.ExitCode != 0 {
			t.Errorf("/proc/%s: %+v", name, o)
		}
	}
}

func TestSandboxSlotIsOutOfReach(t *testing.T) {
	e := executor(t)
	pid1 := "1"
	if inSandbox(t) == "subreaper" {
		pid1 = "$PPID"
	}
	for _, secret := range []string{"environ", "mem", "maps", "exe", "cwd", "root", "fd", "map_files", "auxv", "stack", "syscall"} {
		o := run(t, e, script(fmt.Sprintf("head -c1 /proc/%[1]s/%[2]s || ls /proc/%[1]s/%[2]s/ || readlink /proc/%[1]s/%[2]s", pid1, secret)))
		if o.ExitCode == 0 {
			t.Errorf("/proc/%s/%s is open to the command: %q", pid1, secret, o.stdout)
		}
	}
	if o := run(t, e, script(fmt.Sprintf("tr '\\0' ' ' < /proc/%s/cmdline", pid1))); !strings.HasSuffix(o.stdout, " slot ") {
		t.Errorf("command line %q", o.stdout)
	}
}

func TestSandboxSlotSurvivesSignals(t *testing.T) {
	e := executor(t)
	target := "1"
	if inSandbox(t) == "subreaper" {
		target = "$PPID"
	}
	// To the slot and, without a namespace, to the guest as well.
	text := fmt.Sprintf(`for s in $(seq 1 64); do kill -$s %s 2>/dev/null; kill -$s 1 2>/dev/null; done; echo alive; exit 5`, target)
	for range 3 {
		o := run(t, e, script(text))
		if o.stdout != "alive\n" || o.ExitCode != 5 {
			t.Fatalf("%+v", o)
		}
	}
	if n := slots(e); n != 1 {
		t.Errorf("%d slots: the first did not survive", n)
	}
}

func TestSandboxCommandsAreApart(t *testing.T) {
	if inSandbox(t) != "namespace" {
		testenv.SkipArchitectural(t, "commands see one another without pid namespaces")
	}
	e := executor(t)
	c := script("echo ready; read x; echo end")
	c.Stdin = StdinPipe
	other := start(t, e, c)
	expect(t, other, "ready\n")
	if o := run(t, e, script("set -- /proc/[0-9]*; echo $# $PPID")); o.stdout != "2 1\n" {
		t.Errorf("a command sees %q processes and parent, want pid 1 and itself", o.stdout)
	}
	if o := run(t, e, script("kill -9 -1; sleep 0.05; echo still")); o.stdout != "still\n" {
		t.Errorf("%+v", o)
	}
	other.Stdin.Close()
	if o := collect(t, other); o.stdout != "end\n" {
		t.Errorf("%+v", o)
	}
}

func TestSandboxToolsWork(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct{ tool, script, want string }{
		{"python3", `python3 -c "
import multiprocessing, socket, subprocess, threading, asyncio, tempfile, mmap
print(sum(multiprocessing.Pool(2).map(abs, [1,-2])))
for m in ('spawn','forkserver'):
    c = multiprocessing.get_context(m); p = c.Process(target=print, args=(m,)); p.start(); p.join(); assert p.exitcode == 0
a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
subprocess.run(['true'], check=True)
t = threading.Thread(target=lambda: None); t.start(); t.join()
asyncio.run(asyncio.sleep(0))
print('ok')"`, "ok\n"},
		{"git", "rm -rf /tmp/g; git init -q /tmp/g && cd /tmp/g && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s", "x\n"},
		{"gcc", "cd /tmp && echo 'int main(){return 7;}' > m.c && gcc m.c -o m && ./m; echo $?", "7\n"},
		{"go", "cd /tmp && export PATH=$PATH:/usr/local/go/bin GOCACHE=/tmp/gc GOPATH=/tmp/gp GOTOOLCHAIN=local GOFLAGS= && go list -deps fmt | tail -1", "fmt\n"},
		{"node", "node -e 'require(\"fs\").readFile(\"/etc/passwd\", () => console.log(\"ok\"))'", "ok\n"},
		{"perl", "perl -e 'print fork ? wait > 0 : exit, \"\\n\"'", "1\n"},
		{"script", "script -qec 'echo in-pty' /dev/null </dev/null | tr -d '\\r'", "in-pty\n"},
		{"tar", "cd /tmp && mkdir -p td && touch td/a && tar cf t.tar td && tar tf t.tar", "td/\ntd/a\n"},
		{"strace", "strace -o /dev/null true && echo ok", "ok\n"},
		{"make", "cd /tmp && printf 'a:\\n\\t@echo made\\n' > Makefile && make -j2 -s", "made\n"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			if run(t, e, script("PATH=$PATH:/usr/local/go/bin; command -v "+tt.tool)).ExitCode != 0 {
				testenv.Skip(t, "not installed")
			}
			o := run(t, e, script(tt.script))
			if !strings.HasSuffix(o.stdout, tt.want) || o.ExitCode != 0 {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestSandboxRefusedCalls(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct{ name, script string }{
		{"namespace", "unshare -Ur true"},
		{"mount namespace", "unshare -m true"},
		{"mount", "mount -t tmpfs x /tmp"},
		{"kernel log", "dmesg"},
		{"host name", "hostname x"},
		{"personality", "setarch i686 --addr-compat-layout true"},
	} {
		if o := run(t, e, script(tt.script)); o.ExitCode == 0 {
			t.Errorf("%s: %q succeeded", tt.name, tt.script)
		}
	}
}

func TestSandboxSlotsAreReusedAndEnded(t *testing.T) {
	e := executor(t, func(c *Config) { c.SurplusTimeout = 50 * time.Millisecond; c.IdleTimeout = 300 * time.Millisecond })
	var all []*Process
	for range 4 {
		c := script("read x")
		c.Stdin = StdinPipe
		all = append(all, start(t, e, c))
	}
	if n := slots(e); n != 4 {
		t.Errorf("%d slots for 4 commands", n)
	}
	for _, p := range all {
		p.Stdin.Close()
		collect(t, p)
	}
	waitFor(t, "surplus slots to end", func() bool { return slots(e) == 1 })
	waitFor(t, "the warm slot to end", func() bool { return slots(e) == 0 })
	if o := run(t, e, script("echo again")); o.stdout != "again\n" {
		t.Errorf("%+v", o)
	}
}

func TestSandboxSlotIsKilledFromOutside(t *testing.T) {
	e := executor(t)
	p := start(t, e, script("echo ready; setsid sleep 600 & sleep 600"))
	expect(t, p, "ready\n")
	p.slot.kill()
	if o := collect(t, p); o.Signal != 9 {
		t.Errorf("%+v", o)
	}
	noStrangers(t, e)
	run(t, e, script("true"))
	e.mu.Lock()
	idle := e.idle[0]
	e.mu.Unlock()
	idle.kill()
	<-idle.gone
	if o := run(t, e, script("echo on")); o.stdout != "on\n" {
		t.Errorf("after the death of an idle slot: %+v", o)
	}
}

func TestSandboxLeavesNothing(t *testing.T) {
	e := executor(t)
	run(t, e, script("true"))
	before := descriptors(t)
	for i := range 60 {
		c := script("echo x; echo y >&2")
		switch i % 3 {
		case 1:
			c.Stdin = StdinPipe
		case 2:
			c.TTY = &Size{}
		}
		p := start(t, e, c)
		if p.Stdin != nil {
			p.Stdin.Close()
		}
		collect(t, p)
		e.Start(t.Context(), Command{Argv: []string{"/nowhere"}, Dir: "/tmp"})
	}
	if after := descriptors(t); len(after) > len(before) {
		t.Errorf("descriptors before %v\nafter %v", before, after)
	}
}

// The threads of slots count against the limits of the sandbox's tasks.
func TestSandboxSlotHasFewThreads(t *testing.T) {
	e := executor(t)
	pid := "1"
	if inSandbox(t) == "subreaper" {
		pid = "$PPID"
	}
	for range 20 {
		run(t, e, script("sleep 0.01 & true"))
	}
	o := run(t, e, script("awk '/^Threads/{print $2}' /proc/"+pid+"/status"))
	if n, err := strconv.Atoi(strings.TrimSpace(o.stdout)); err != nil || n > slotTasks {
		t.Errorf("%d threads, want at most %d (%v)", n, slotTasks, err)
	}
	t.Logf("%s threads", strings.TrimSpace(o.stdout))
}
