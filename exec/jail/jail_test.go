package jail

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forBoth runs a test as root and, when root runs it, in a second process as
// an ordinary user with an openable /dev/fuse.
func forBoth(t *testing.T, test func(t *testing.T)) {
	needFuse(t)
	if os.Geteuid() != 0 {
		test(t)
		return
	}
	t.Run("root", test)
	t.Run("user", func(t *testing.T) { rerunAsUser(t, strings.SplitN(t.Name(), "/", 2)[0]) })
}

// rows are scripts and what their output must and must not match.
var rows = []struct{ name, script, want, never string }{
	{"root listing", `ls / | tr '\n' ' '`, `^(bin|dev|etc|lib|lib32|lib64|libx32|mnt|opt|proc|run|sbin|tmp|usr|var| )+$`, ``},
	{"root is read-only", `touch /x /etc/x /dev/x /var/x 2>&1; mkdir /mnt/new; echo rc=$?`, `(?s)Read-only file system.*Read-only.*Read-only.*Read-only`, `rc=0`},
	{"system is read-only", `touch /usr/x /opt/x /usr/lib/x 2>&1`, `Read-only`, `Permission`},
	{"host data", `ls -d /home /root /srv /boot /media /sys /var/lib 2>&1 | grep -vc 'No such'`, `^0$`, ``},
	{"mountinfo", `cat /proc/self/mountinfo /proc/mounts /proc/self/mounts`, `fuse.sandboxfs sandboxfs`,
		`/tmp/[a-z]|/root|/home/|backing|threads?/|lowerdir|upperdir|shared:|master:| /hidden`},
	{"tree is whole as a mount", `findmnt -rno FSROOT,TARGET -t fuse.sandboxfs || grep fuse.sandboxfs /proc/self/mountinfo | cut -d' ' -f4,5`,
		`(?m)^/mnt /mnt$`, ``},
	{"hidden part of the tree", `cat /hidden/secret /mnt/hidden/secret 2>&1`, `No such file`, `CANARY`},
	{"capabilities", `grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | awk '{print $2}' | sort -u`, `^0000000000000000$`, ``},
	{"no new privileges", `grep NoNewPrivs /proc/self/status`, `1$`, ``},
	{"pid 1 environment", `cat /proc/1/environ; echo rc=$?`, `(?i)permission denied(.|\n)*rc=1`, `PATH`},
	{"pid 1 is not dumpable", `stat -c %u /proc/1/environ /proc/1/mem`, `^65534\n65534$`, ``},
	{"pid 1 links", `readlink /proc/1/exe /proc/1/cwd /proc/1/root; ls /proc/1/fd /proc/1/map_files; echo end`, `end`, `/root|/home|/tmp/|boot|srv|socket`},
	{"pid 1 memory", `head -c1 /proc/1/mem; cat /proc/1/maps; echo rc=$?`, `(?i)permission denied`, `sandboxfsd|jail.test`},
	{"pid 1 command line", `tr '\0' ' ' </proc/1/cmdline`, `^sandboxfsd guest ?$`, ``},
	{"descriptors", `for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] && echo fd$n=$(readlink $f); done 2>/dev/null | grep -v /proc/; echo end`, `end$`, `fd[0-9]+=.`},
	{"cgroup names", `cut -d: -f3 /proc/self/cgroup | sort -u`, `^/$`, ``},
	{"passwd", `cat /etc/passwd; id -un; id -gn; echo ~agent`, `(?m)^agent:x:1000:1000:(.|\n)*\nagent\nagent\n/mnt/user-data/workspace$`, `/root|/home/`},
	{"groups", `id -G`, `^1000$`, ``},
	{"host name", `hostname; cat /etc/hostname`, `^sandbox\nsandbox$`, ``},
	{"tmp", `ls -A /tmp /var/tmp /run /dev/shm | grep -v '^$\|:'; for d in /tmp /var/tmp /dev/shm; do echo x >$d/mine && cat $d/mine; done; rm /tmp/mine /var/tmp/mine /dev/shm/mine`, `^x\nx\nx$`, ``},
	{"keys", `cat /proc/keys`, ``, `_uid|user: |logon|jail-canary`},
	{"sysctl", `for f in kernel/core_pattern kernel/hostname vm/drop_caches user/max_user_namespaces kernel/ns_last_pid net/ipv4/ip_forward; do (echo 1 >/proc/sys/$f) 2>&1; done`,
		`(?i)permission denied`, `(?m)^$`},
	{"sysrq", `(echo h >/proc/sysrq-trigger) 2>&1; echo rc=$?`, `rc=1`, ``},
	{"id maps", `echo allow >/proc/self/setgroups; echo rc=$?; echo '0 0 1' >/proc/self/uid_map; echo rc=$?`, `rc=1`, `rc=0`},
	{"nested user namespace", `unshare -Ur id; echo rc=$?`, `rc=[1-9]`, `rc=0`},
	{"remount", `mount -o remount,rw,bind /mnt/skills; mount -o remount,rw /; umount /mnt/skills; touch /mnt/skills/x /x; echo rc=$?`, `rc=1`, `rc=0`},
	{"read-only mounts", `echo evil >/mnt/skills/pub/SKILL.md; touch /mnt/user-data/uploads/x; cat /mnt/skills/pub/SKILL.md; stat -f -c %t /mnt/skills >/dev/null; grep -c ' /mnt/\(skills\|user-data/uploads\) ro,' /proc/self/mountinfo`,
		`(?s)Read-only.*Read-only.*SKILL-ORIGINAL.*2$`, ``},
	{"mounts of their own", `for d in /mnt /mnt/user-data /mnt/user-data/uploads /mnt/user-data/workspace; do mountpoint -q $d && echo $d; done`,
		`^/mnt\n/mnt/user-data\n/mnt/user-data/uploads$`, ``},
	{"devices", `ls /dev | tr '\n' ' '; ls /dev/mem /dev/kmsg /dev/fuse /dev/kvm 2>&1 | grep -vc 'No such'`, `^fd full null ptmx pts random shm stderr stdin stdout tty urandom zero 0$`, ``},
	{"devices work", `head -c4 /dev/zero | od -An -tx1; head -c8 /dev/urandom | wc -c; echo x >/dev/null; echo x >/dev/full; script -qec 'tty' /dev/null </dev/null`, `(?s)00 00 00 00\n8\n.*No space left.*/dev/pts/0`, ``},
	{"processes", `ls -d /proc/[0-9]* | wc -l; ps -eo args 2>/dev/null | head -20`, `^[1-9]\n`, `systemd|jail.test|sshd`},
	{"programs", `awk 'BEGIN{print "awk"}'; sed -n 1p /etc/hosts; perl -e 'print "perl\n"'; python3 -c 'import ssl,json;print("python")'`, `(?s)awk\n127.0.0.1 localhost sandbox.*perl`, ``},
	{"covered parts of /proc", `cd /proc; cat cmdline swaps keys key-users sys/kernel/core_pattern; ls fs acpi scsi 2>/dev/null | grep -v ':$' | tr -d '\n'; touch fs/x 2>/dev/null && echo writable; echo end`, `^end$`, ``},
	{"tools that read /proc", `nproc && free -m && uptime && ps -ef && top -bn1 | head -3; echo rc=$?`, `(?s)Mem:.*load average.*PID.*rc=0$`, ``},
	{"limits", `ulimit -c; ulimit -Sn; ulimit -Hn; ulimit -f`, `^0\n1024\n4096\nunlimited$`, ``},
	{"disk free", `df -P`, `/tmp`, `/root|/home/`},
	{"working directory", `pwd; cd /mnt/user-data/workspace && pwd -P && cat w`, `^/\n/mnt/user-data/workspace\nhere$`, `unreachable`},
}

func TestIsolated(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		t.Setenv("HOST_SECRET", "CANARY")
		b := startBox(t, nil)
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				out := b.sh(t, "exec 2>&1\n"+r.script)
				if r.want != "" && !regexp.MustCompile(r.want).MatchString(out) {
					t.Errorf("want %q, got:\n%s", r.want, out)
				}
				if r.never != "" && regexp.MustCompile(r.never).MatchString(out) {
					t.Errorf("must not match %q, got:\n%s", r.never, out)
				}
			})
		}
	})
}

// TestEtcIsPublic wants nothing in /etc but what is generated and listed.
func TestEtcIsPublic(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		allowed := []string{"mtab"}
		for name := range generated(&world{}) {
			allowed = append(allowed, name)
		}
		for _, p := range hostEtc {
			allowed = append(allowed, strings.SplitN(p, "/", 2)[0])
		}
		b := startBox(t, nil)
		for _, name := range strings.Fields(b.sh(t, "ls -A /etc")) {
			if !slices.ContainsFunc(allowed, func(p string) bool {
				prefix, wild := strings.CutSuffix(p, "*")
				return name == p || wild && strings.HasPrefix(name, prefix)
			}) {
				t.Errorf("/etc/%s is shown", name)
			}
		}
		for _, p := range []string{"/etc/shadow", "/etc/ssl/private", "/etc/apt", "/etc/fstab", "/etc/machine-id", "/etc/gitconfig"} {
			if out, code := b.run(t, "ls", "-d", p); code == 0 {
				t.Errorf("there is %s", out)
			}
		}
	})
}

// TestEveryThreadOfPid1 looks at what the guest itself holds: the capability
// to make pid namespaces, and no thread more than that.
func TestEveryThreadOfPid1(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		b := startBox(t, nil)
		ambient := "0000000000000000"
		if _, _, e := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0); e == syscall.ENOTSUP {
			ambient = "0000000000200000" // built with cgo
		}
		got := b.sh(t, `cat /proc/1/task/*/status | grep -E '^(Cap|NoNewPrivs|Uid|Gid|Groups)' | sort -u | tr '\t' ' ' | tr -s ' '`)
		want := "CapAmb: " + ambient + `
CapBnd: 0000000000000000
CapEff: 0000000000200000
CapInh: 0000000000200000
CapPrm: 0000000000200000
Gid: 1000 1000 1000 1000
Groups: 
NoNewPrivs: 1
Uid: 1000 1000 1000 1000`
		if got != want {
			t.Errorf("want:\n%s\ngot:\n%s", want, got)
		}
		if n := b.sh(t, "ls /proc/1/task | wc -l"); n == "1" {
			t.Errorf("pid 1 has one thread only; the test shows nothing")
		}
	})
}

func TestNetNoneHasLoopbackOnly(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		b := startBox(t, nil)
		if got := b.sh(t, `cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' \n'`); got != "lo" {
			t.Errorf("interfaces: want lo alone, got %q", got)
		}
		want := "lo-ok"
		got := b.sh(t, `exec 2>&1; python3 -c "import socket;s=socket.socket();s.bind(('127.0.0.1',0));s.listen();c=socket.create_connection(s.getsockname());print('lo-ok')" || echo lo-ok`)
		if got != want {
			t.Errorf("loopback: want %q, got %q", want, got)
		}
	})
}

func TestNetHostSharesInterfaces(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		ifs, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		b := startBox(t, func(s *Spec) { s.Net = NetHost })
		got := b.sh(t, `tail -n +3 /proc/net/dev | wc -l; grep -c . /etc/resolv.conf; grep -E 'search|domain' /etc/resolv.conf`)
		if !strings.HasPrefix(got, fmt.Sprintln(len(ifs))) {
			t.Errorf("interfaces: want %d, got %q", len(ifs), got)
		}
		if strings.Contains(got, "search") || strings.Contains(got, "domain") {
			t.Errorf("search domains are shown: %q", got)
		}
	})
}

func TestTwoAtOnce(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		a := startBox(t, func(s *Spec) { s.Extra = []byte("a") })
		b := startBox(t, func(s *Spec) {
			s.Extra = []byte("b")
			if os.Geteuid() == 0 {
				s.HostUID, s.HostGID = testUID+1, testUID+1
			}
		})
		a.sh(t, "echo a >/tmp/f; echo a >/dev/shm/f")
		b.sh(t, "echo b >/tmp/f; echo b >/dev/shm/f")
		if got := a.sh(t, "cat /tmp/f /dev/shm/f"); got != "a\na" {
			t.Errorf("first: got %q", got)
		}
		if got := b.sh(t, "cat /tmp/f /dev/shm/f"); got != "b\nb" {
			t.Errorf("second: got %q", got)
		}
		if a.Isolation()["extra"] != "a" || b.Isolation()["extra"] != "b" {
			t.Errorf("extra: %v %v", a.Isolation(), b.Isolation())
		}
		a.Close()
		if got := b.sh(t, "cat /tmp/f"); got != "b" {
			t.Errorf("second after the first ended: got %q", got)
		}
	})
}

func TestHostTier(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		marker := t.TempDir() + "/marker"
		if err := os.WriteFile(marker, []byte("host file"), 0o644); err != nil {
			t.Fatal(err)
		}
		b := startBox(t, func(s *Spec) { s.Tier = Host })
		got := b.sh(t, `exec 2>&1; id -u; cat `+marker+`; echo; cat /mnt/skills/pub/SKILL.md; echo; echo x >/mnt/skills/pub/SKILL.md; stat -c %u /mnt/user-data; echo pids $(ls -d /proc/[0-9]* | wc -l)`)
		want := fmt.Sprintf(`^%d\nhost file\nSKILL-ORIGINAL\n.*Read-only file system\n%d\npids [1-9]$`, os.Geteuid(), os.Geteuid())
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("want %q, got:\n%s", want, got)
		}
		if b.Isolation()["tier"] != "host" {
			t.Errorf("isolation: %v", b.Isolation())
		}
		if m := mounts(t); m != "" {
			t.Errorf("the tree is in the host's mount table: %s", m)
		}
	})
}

func TestWaitAndKill(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		b := startBox(t, nil)
		select {
		case <-b.Done():
			t.Fatal("ended too early")
		default:
		}
		b.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		select {
		case <-b.Done():
		case <-ctx.Done():
			t.Fatal("pid 1 survives SIGKILL")
		}
		if err := b.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("want an error that says killed, got %v", err)
		}
		b.Close()
		b.Close()
	})
}
