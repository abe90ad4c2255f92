package script

import (
	"crypto/sha256"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// machine is a pretended Debian: a PATH with stand-ins for what would change
// the real one, and with what a script needs otherwise.
type machine struct {
	t                               *testing.T
	bin, prefix, mirror, etc, calls string
}

const stub = "#!/bin/sh\n"

func newMachine(t *testing.T) *machine {
	t.Helper()
	base := t.TempDir()
	m := &machine{t: t, bin: filepath.Join(base, "bin"), prefix: filepath.Join(base, "prefix"), mirror: filepath.Join(base, "mirror"), etc: filepath.Join(base, "etc"), calls: filepath.Join(base, "calls")}
	for _, dir := range []string{m.bin, m.mirror, m.etc} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"sh", "cat", "sed", "sort", "head", "tail", "tar", "gzip", "sha256sum", "mktemp", "rm", "mv", "mkdir", "ln", "dirname"} {
		if err := os.Symlink(testenv.RequireProgram(t, tool, "coreutils"), filepath.Join(m.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	m.program("uname", "echo x86_64")
	m.program("id", "echo 0")
	m.program("dpkg-query", "echo installed")
	m.program("apt-get", `echo "apt-get $*" >>`+m.calls)
	m.program("apt-cache", "echo '  Candidate: 2:1.19~1'")
	m.program("curl", `out= url=
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; --retry) shift;; -*) ;; *) url=$1;; esac; shift; done
[ -e "`+m.mirror+`/${url##*/}" ] || exit 22
if [ "$out" ]; then cat "`+m.mirror+`/${url##*/}" >"$out"; else cat "`+m.mirror+`/${url##*/}"; fi`)
	return m
}

func (m *machine) program(name, body string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte(stub+body+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// goOf makes a Go of a version, at a path.
func (m *machine) goOf(version string) string { return "echo go" + version }

// run runs the script of a checkout that wants Go 1.26.0.
func (m *machine) run() (string, error) {
	m.t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		m.t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, "scripts", "provision.sh"))
	if err != nil {
		m.t.Fatal(err)
	}
	checkout := m.t.TempDir()
	err = os.Mkdir(filepath.Join(checkout, "scripts"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(checkout, "go.mod"), []byte("module x\n\ngo 1.26.0\n"), 0o644)
	}
	name := filepath.Join(checkout, "scripts", "provision.sh")
	if err == nil {
		err = os.WriteFile(name, script, 0o755)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := osexec.CommandContext(m.t.Context(), "/bin/sh", name)
	cmd.Env = []string{"PATH=" + m.bin, "PROVISION_PREFIX=" + m.prefix, "PROVISION_GO_URL=https://mirror.invalid/go", "TMPDIR=" + m.t.TempDir(), "PROVISION_ETC=" + m.etc}
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// archive puts a Go of the wanted version onto the mirror.
func (m *machine) archive(sum func(right string) string) {
	m.t.Helper()
	dir := m.t.TempDir()
	bin := filepath.Join(dir, "go", "bin")
	err := os.MkdirAll(bin, 0o755)
	for _, name := range []string{"go", "gofmt"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(bin, name), []byte(stub+m.goOf("1.26.0")+"\n"), 0o755)
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
	file := filepath.Join(m.mirror, "go1.26.0.linux-amd64.tar.gz")
	if out, err := osexec.Command("tar", "-C", dir, "-czf", file, "go").CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file+".sha256", []byte(sum(fmt.Sprintf("%x", sha256.Sum256(content)))), 0o644)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func right(sum string) string { return sum }

func TestProvision(t *testing.T) {
	for name, c := range map[string]struct {
		prepare  func(m *machine)
		fails    bool
		want     []string
		wantGo   bool   // one was put into the prefix
		wantCall string // of apt-get
		noMtab   bool   // none is made
	}{
		"everything is there": {prepare: func(m *machine) { m.program("go", m.goOf("1.26.0")) }, want: []string{"everything is there"}},
		"a newer Go is left":  {prepare: func(m *machine) { m.program("go", m.goOf("1.100.1")) }, want: []string{"everything is there"}},
		"a package is missing": {prepare: func(m *machine) {
			m.program("go", m.goOf("1.26.0"))
			m.program("dpkg-query", `case $* in *bubblewrap*) exit 1;; esac; echo installed`)
		}, want: []string{"installing bubblewrap", "done"}, wantCall: "install --no-install-recommends bubblewrap"},
		"no Go":            {prepare: func(m *machine) { m.archive(right) }, want: []string{"installing Go 1.26.0", "done"}, wantGo: true},
		"an old Go":        {prepare: func(m *machine) { m.program("go", m.goOf("1.9.7")); m.archive(right) }, want: []string{"done"}, wantGo: true},
		"a wrong checksum": {prepare: func(m *machine) { m.archive(func(string) string { return strings.Repeat("0", 64) }) }, fails: true, want: []string{"checksum", "wrong"}},
		"no checksum":      {prepare: func(m *machine) { m.archive(func(string) string { return "" }) }, fails: true, want: []string{"checksum"}},
		"no way to go.dev": {prepare: func(*machine) {}, fails: true, want: []string{"cannot be fetched", "https://go.dev/dl"}},
		"a Go in the way": {prepare: func(m *machine) { m.archive(right); must(m.t, os.MkdirAll(m.prefix+"/go/bin", 0o755)) },
			fails: true, want: []string{"left as it is"}},
		"Debian's Go is new enough": {prepare: func(m *machine) { m.program("apt-cache", "echo '  Candidate: 2:1.27~2+b1'") }, want: []string{"golang-go 1.27"}, wantCall: "golang-go"},
		"another processor":         {prepare: func(m *machine) { m.program("uname", "echo riscv64") }, fails: true, want: []string{"riscv64", "by hand"}},
		"an ordinary user": {prepare: func(m *machine) { m.program("id", "echo 1000"); m.program("dpkg-query", "exit 1") },
			want: []string{"not root", "bubblewrap", "Go 1.26.0"}, noMtab: true},
		"no Debian": {prepare: func(m *machine) { must(m.t, os.Remove(m.bin+"/dpkg-query")) }, want: []string{"no Debian"}, noMtab: true},
		"apt fails": {prepare: func(m *machine) {
			m.program("go", m.goOf("1.26.0"))
			m.program("dpkg-query", "exit 1")
			m.program("apt-get", "echo no route to the archive; exit 100")
		}, fails: true, want: []string{"no route", "by hand"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			c.prepare(m)
			out, err := m.run()
			if (err != nil) != c.fails {
				t.Errorf("%v\n%s", err, out)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("want %q in:\n%s", w, out)
				}
			}
			calls, _ := os.ReadFile(m.calls)
			if !strings.Contains(string(calls), c.wantCall) || c.wantCall == "" && len(calls) > 0 {
				t.Errorf("apt-get was called: %q, want %q", calls, c.wantCall)
			}
			_, err = os.Stat(filepath.Join(m.prefix, "bin", "go")) // through the link
			if (err == nil) != c.wantGo {
				t.Errorf("Go in the prefix: %v, want %v", err, c.wantGo)
			}
			if mtab, _ := os.Readlink(filepath.Join(m.etc, "mtab")); (mtab == "/proc/self/mounts") == c.noMtab {
				t.Errorf("mtab leads to %q", mtab)
			}
			if left, _ := filepath.Glob(filepath.Join(m.prefix, ".go-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if c.fails {
				return
			}
			if again, err := m.run(); err != nil || c.wantGo && !strings.Contains(again, "everything is there") {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
