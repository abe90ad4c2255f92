package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// look prints whatever a command can find out about where it is.
const look = `exec 2>&1
cat /proc/self/mountinfo /proc/mounts /proc/self/cgroup /proc/net/unix /proc/keys /proc/self/maps /proc/swaps
cat /proc/cmdline >/dev/null
env; set; df -a; hostname; ulimit -a; getent passwd; getent hosts localhost; cat /etc/resolv.conf /etc/hosts
for p in /proc/[0-9]*; do
	tr '\0' '\n' <$p/environ; tr '\0' '\n' <$p/cmdline
	readlink $p/exe $p/cwd $p/root $p/fd/*
	cat $p/mountinfo $p/maps $p/cgroup
done
cd /mnt/user-data/workspace
ls none; cat none; ls -la / /mnt /mnt/user-data . ..; stat -f . /mnt/skills; cd none; touch /mnt/x; touch /mnt/skills/x
ln /usr/bin/id x; mv /mnt/skills/pub x; rm -rf /mnt/skills; mkdir /mnt/user-data/uploads/x; ./none; /mnt/skills/pub/SKILL.md
git status; git init -q g; git -C g worktree list; git -C g config -l --show-origin; python3 -c 'import os; print(os.getcwd(), os.path.realpath("."), os.listdir("/"))'
python3 -c 'open("none")'; python3 -c 'import os; print([os.getxattr(".", a) for a in os.listxattr(".")])'
mount; umount /mnt; findmnt; lsblk; losetup; exit 0`

// TestNoHostPath looks for names of the host in all that a thread's shell and
// its callers can make the programs print.
func TestNoHostPath(t *testing.T) {
	testenv.RequireFUSE(t)
	run := func(u *testenv.User) func(*testing.T) {
		return func(t *testing.T) {
			w := newWorld(t, u)
			r := w.newTrial(t, "look")
			for what, text := range r.everythingShown() {
				r.expectNoHostNames(what, text)
			}
		}
	}
	t.Run("as the caller", run(nil))
	if os.Geteuid() == 0 {
		t.Run("as an ordinary user", run(testenv.OrdinaryUser(t)))
	}
}

func (r *trial) everythingShown() map[string]string {
	texts := map[string]string{"inside": r.must(r.t, r.thread, look)}
	add := func(what string, o Outcome, err error) {
		if err != nil {
			r.t.Errorf("%s: %v", what, err)
		}
		texts[what] = o.Combined()
	}
	const limit = time.Minute
	for _, path := range []string{"/mnt/user-data/workspace/none", "/mnt/other", "/etc/none", "/mnt/user-data/../../x", "/mnt/skills"} {
		o, err := r.call(limit, "read", r.thread, path, nil)
		add("read "+path, o, err)
		o, err = r.call(limit, "write", r.thread, path+"/x/y", nil)
		add("write "+path, o, err)
		o, err = r.call(limit, "update", r.thread, path+"/x/y", nil)
		add("update "+path, o, err)
		o, err = r.call(limit, "list", r.thread, path, nil)
		add("list "+path, o, err)
	}
	for _, args := range [][]string{
		{"exec", "--net", "none", "-C", "/none", r.thread, "--", "true"},
		{"exec", "--net", "none", r.thread, "--", "./none"},
		{"exec", "--net", "none", r.thread, "--", "/mnt/user-data"},
		{"ps"}, {"ps", "--json"}, {"stop", "../x"}, {"version", "--json"},
	} {
		o, err := r.cli(r.t.Context(), nil, args...)
		add(strings.Join(args, " "), o, err)
	}
	return texts
}

func (r *trial) expectNoHostNames(what, text string) {
	r.t.Helper()
	secrets := map[string]string{
		"the data directory": r.home, "the runtime directory": r.run, "the programs' directory": r.programs.Dir,
		"the store": filepath.Dir(r.home), "the test's directory": filepath.Dir(r.canaryFile),
		"a planted secret": "CANARY-", "root's home": "\n/root", "the layout on disk": "threads/" + r.thread,
	}
	if name, err := os.Hostname(); err == nil && name != "sandbox" && len(name) > 3 {
		secrets["the host's name"] = name
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > len("/root") {
		secrets["the caller's home"] = home
	}
	for name, secret := range secrets {
		if i := strings.Index(text, secret); i >= 0 {
			from, to := max(0, i-150), min(len(text), i+len(secret)+150)
			r.t.Errorf("%s shows %s: ...%s...", what, name, text[from:to])
		}
	}
}
