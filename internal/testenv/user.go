package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// UserName is the ordinary user of the tests. It is made where missing and
// stays: its uid then stays the same from run to run.
const UserName = "sandboxfs-test"

// envAsUser marks the second run of a test, as the ordinary user.
const envAsUser = "SANDBOXFS_TEST_AS_USER"

// asUserMargin is kept back from the test program's own deadline, so that the
// second run ends first and its output is seen.
const asUserMargin = 5 * time.Second

// User is an ordinary user and a directory of its own.
type User struct {
	UID, GID int
	// Home is a directory that belongs to the user and lives as long as the
	// test. Below it, tmp is the temporary directory and run the runtime
	// directory.
	Home string
}

// OrdinaryUser returns the ordinary user of the tests and makes it where
// there is none. It needs root, and skips without.
func OrdinaryUser(t testing.TB) *User {
	t.Helper()
	RequireRoot(t)
	account, err := user.Lookup(UserName)
	if err != nil {
		useradd := RequireProgram(t, "useradd", "passwd")
		// Another test program may be making it at this moment; what counts
		// is that it is there afterwards.
		out, addErr := exec.Command(useradd, "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/sh", UserName).CombinedOutput()
		if account, err = user.Lookup(UserName); err != nil {
			t.Fatalf("cannot make the user %s: %v: %s", UserName, addErr, out)
		}
	}
	u := &User{}
	if u.UID, err = strconv.Atoi(account.Uid); err == nil {
		u.GID, err = strconv.Atoi(account.Gid)
	}
	if err != nil {
		t.Fatalf("the account %s has no numeric ids: %v", UserName, err)
	}
	u.Home = u.makeHome(t)
	return u
}

// makeHome makes the user's directory directly below the temporary directory:
// t.TempDir is closed to other users, and socket paths must stay short.
func (u *User) makeHome(t testing.TB) string {
	t.Helper()
	home, err := os.MkdirTemp("", "sbfs-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeUnmounted(home); err != nil {
			t.Errorf("the ordinary user's directory cannot be removed: %v", err)
		}
	})
	for _, dir := range []string{home, filepath.Join(home, "tmp"), filepath.Join(home, "run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, u.UID, u.GID); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// openFUSE runs in a mount namespace of its own, as root. It shows this
// process and its children a /dev/fuse that everybody can open, as
// distributions ship it, and leaves the machine's own device as it is. Then
// it becomes the user: $1 uid, $2 gid, the rest is the command.
const openFUSE = `set -e
if [ -e /dev/fuse ]; then
	mount -t tmpfs -o mode=0755,size=64k none /mnt
	mknod -m 0666 /mnt/fuse c 10 229
	chmod 0666 /mnt/fuse
	mount --bind /mnt/fuse /dev/fuse
	umount -l /mnt
fi
uid=$1 gid=$2
shift 2
exec setpriv --reuid="$uid" --regid="$gid" --clear-groups --inh-caps=-all -- "$@"
`

// Command returns a command that runs as the user, with no group but its own,
// no capability and an environment of its own (HOME, TMPDIR,
// XDG_RUNTIME_DIR, PATH, and $CI and the other variables of this package). It
// sees a /dev/fuse that it may open. Cancelling ctx kills it.
func (u *User) Command(ctx context.Context, argv ...string) *exec.Cmd {
	args := []string{"--mount", "--propagation", "private", "--", "/bin/sh", "-c", openFUSE, "sh", strconv.Itoa(u.UID), strconv.Itoa(u.GID)}
	cmd := exec.CommandContext(ctx, "unshare", append(args, argv...)...)
	cmd.Env = u.environment()
	cmd.WaitDelay = time.Second
	return cmd
}

func (u *User) environment() []string {
	env := []string{
		"HOME=" + u.Home,
		"USER=" + UserName,
		"TMPDIR=" + filepath.Join(u.Home, "tmp"),
		"XDG_RUNTIME_DIR=" + filepath.Join(u.Home, "run"),
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8",
	}
	for _, name := range []string{EnvCI, EnvBin, envMark} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// AsUser runs the calling test as the ordinary user. Where the caller is
// root, it runs this test once more in a child process as that user, passes
// on its result, its output and its skips, and returns true: the caller
// returns. Where the caller is no root, or is that child, it returns false:
// the caller goes on.
//
//	func TestSomething(t *testing.T) {
//		if testenv.AsUser(t) {
//			return
//		}
//		... // here an ordinary user
//	}
func AsUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 || os.Getenv(envAsUser) != "" {
		return false
	}
	u := OrdinaryUser(t)
	// The user may have no Go and no cache. Where the programs do not build,
	// a test that asks for them says so.
	programs, buildErr := built()
	deadline := time.Now().Add(2 * time.Minute)
	if d, ok := t.Deadline(); ok && d.Add(-asUserMargin).Before(deadline) {
		deadline = d.Add(-asUserMargin)
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()

	cmd := u.Command(ctx, u.testProgram(t), "-test.run", runPattern(t.Name()), "-test.v", "-test.count=1",
		"-test.timeout", time.Until(deadline).Round(time.Second).String())
	cmd.Env = append(cmd.Env, envAsUser+"=1")
	if buildErr == nil && os.Getenv(EnvBin) == "" {
		cmd.Env = append(cmd.Env, EnvBin+"="+programs.Dir)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	reportSecondRun(t, out.String(), err)
	return true
}

// reportSecondRun turns the output of the ordinary user's run into this
// test's result.
func reportSecondRun(t *testing.T, out string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("as the user %s: %v\n%s", UserName, err, out)
	}
	if !strings.Contains(out, "--- PASS: "+t.Name()+" ") {
		if reason, ok := findSkip(out); ok {
			Skip(t, "as the user "+UserName+": "+reason)
		}
		t.Fatalf("as the user %s the test did not run\n%s", UserName, out)
	}
	t.Logf("as the user %s:\n%s", UserName, out)
}

var skipLine = regexp.MustCompile(`(?m)skipped: [^:\n]+: (.*)$`)

func findSkip(out string) (reason string, ok bool) {
	if m := skipLine.FindStringSubmatch(out); m != nil {
		return m[1], true
	}
	return "", false
}

// runPattern matches one test, or subtest, and nothing else.
func runPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// testProgram copies the running test program to where the user can execute
// it: go test keeps it in a directory that is closed to others.
func (u *User) testProgram(t testing.TB) string {
	t.Helper()
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	name := filepath.Join(u.Home, "test-program")
	dst, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_CLOEXEC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(dst, src)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(fmt.Errorf("copying the test program: %w", err))
	}
	return name
}
