package script

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

const demoDeadline = time.Minute

// TestDemo runs the demonstration as whoever runs the tests.
func TestDemo(t *testing.T) {
	testenv.RequireFUSE(t)
	ctx, cancel := context.WithTimeout(t.Context(), demoDeadline)
	defer cancel()
	cmd := osexec.CommandContext(ctx, "sh", demoScript(t, t.TempDir()))
	cmd.Env = append(os.Environ(), testenv.EnvBin+"="+testenv.Binaries(t).Dir)
	expectDemo(t, cmd)
}

// TestDemoAsUser runs it as an ordinary user for whom /dev/fuse is open.
func TestDemoAsUser(t *testing.T) {
	u := testenv.OrdinaryUser(t)
	ctx, cancel := context.WithTimeout(t.Context(), demoDeadline)
	defer cancel()
	cmd := u.Command(ctx, "sh", demoScript(t, u.Home))
	cmd.Env = append(cmd.Env, testenv.EnvBin+"="+testenv.Binaries(t).Dir)
	expectDemo(t, cmd)
}

func expectDemo(t *testing.T, cmd *osexec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"wrote 4 lines", "all,75", "Read-only file system"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
}

// demoScript copies the script to where its user can read it.
func demoScript(t *testing.T, dir string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, "scripts", "demo.sh"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "demo.sh")
	if err := os.WriteFile(name, script, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// closedFUSE shows a /dev/fuse that only root may open ($1 is "closed"), or
// none at all ("missing"), to the command that follows two ids.
const closedFUSE = `set -e
mount -t tmpfs -o mode=0755,size=64k none /mnt
if [ "$1" = closed ]; then
	mknod -m 0600 /mnt/fuse c 10 229
	mount --bind /mnt/fuse /dev/fuse
else
	mkdir /mnt/dev
	for d in null zero full random urandom tty; do : >/mnt/dev/$d; mount --bind /dev/$d /mnt/dev/$d; done
	mount --rbind /mnt/dev /dev
fi
umount -l /mnt
uid=$2 gid=$3
shift 3
exec setpriv --reuid="$uid" --regid="$gid" --clear-groups -- "$@"
`

// TestWithoutFUSE meets machines on which the kernel's part is missing: the
// demonstration and the command line name it and its cure, and run nothing.
func TestWithoutFUSE(t *testing.T) {
	u := testenv.OrdinaryUser(t)
	programs := testenv.Binaries(t)
	script := demoScript(t, u.Home)
	cases := map[string]struct{ cure, device string }{
		"closed":  {"666 /dev/fuse", "closed"},
		"missing": {"modprobe fuse", "missing"},
	}
	commands := map[string]struct {
		argv   []string
		status int
	}{
		"demo": {[]string{"sh", script}, 1},
		"exec": {[]string{programs.Sandboxfs, "exec", "demo", "--", "echo", "must not run"}, 125},
	}
	for name, c := range cases {
		for what, command := range commands {
			t.Run(what+" "+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), demoDeadline)
				defer cancel()
				argv := append([]string{"--mount", "--propagation", "private", "--", "sh", "-c", closedFUSE, "sh", c.device,
					strconv.Itoa(u.UID), strconv.Itoa(u.GID)}, command.argv...)
				cmd := osexec.CommandContext(ctx, "unshare", argv...)
				cmd.Env = append(u.Command(ctx).Env, testenv.EnvBin+"="+programs.Dir)
				out, err := cmd.CombinedOutput()
				if got := cmd.ProcessState.ExitCode(); got != command.status {
					t.Errorf("want status %d, got %d (%v)\n%s", command.status, got, err, out)
				}
				if !strings.Contains(string(out), c.cure) || !strings.Contains(string(out), "/dev/fuse") {
					t.Errorf("want the cure %q in:\n%s", c.cure, out)
				}
				if strings.Contains(string(out), "must not run") {
					t.Errorf("the command ran:\n%s", out)
				}
			})
		}
	}
}
