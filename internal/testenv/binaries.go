package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// buildDeadline bounds one build of both programs, on a cold cache of a slow
// machine.
const buildDeadline = 5 * time.Minute

// Programs are the paths of the built programs.
type Programs struct {
	// Dir is the directory that holds both; put it at the front of PATH.
	Dir string
	// Sandboxfs is the command-line program.
	Sandboxfs string
	// Sandboxfsd is the program that runs once per sandbox.
	Sandboxfsd string
}

// built is memory of this test program alone: the programs do not change
// while it runs.
var built = sync.OnceValues(buildPrograms)

// Binaries returns the programs, built static and without cgo from this
// checkout, or those of the directory in $SANDBOXFS_BIN where that is set. It
// builds once per test program; those of one user share a directory and the
// Go build cache, so only the first of a run waits. Every user may execute
// the result. It fails the test where the build fails.
func Binaries(t testing.TB) Programs {
	t.Helper()
	p, err := built()
	if err != nil {
		t.Fatalf("cannot build the programs: %v", err)
	}
	return p
}

func buildPrograms() (Programs, error) {
	if dir := os.Getenv(EnvBin); dir != "" {
		return programsIn(dir)
	}
	root, err := ModuleRoot()
	if err != nil {
		return Programs{}, err
	}
	dir, err := binDir(root)
	if err != nil {
		return Programs{}, err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return Programs{}, err
	}
	defer unlock()

	ctx, cancel := context.WithTimeout(context.Background(), buildDeadline)
	defer cancel()
	for _, name := range []string{"sandboxfs", "sandboxfsd"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(dir, name), "./cmd/"+name)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return Programs{}, fmt.Errorf("go build ./cmd/%s: %w\n%s", name, err, out)
		}
	}
	return programsIn(dir)
}

func programsIn(dir string) (Programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Programs{}, err
	}
	p := Programs{
		Dir:        dir,
		Sandboxfs:  filepath.Join(dir, "sandboxfs"),
		Sandboxfsd: filepath.Join(dir, "sandboxfsd"),
	}
	for _, name := range []string{p.Sandboxfs, p.Sandboxfsd} {
		if err := unix.Access(name, unix.X_OK); err != nil {
			return Programs{}, fmt.Errorf("%s cannot be executed (%w); build it there or unset $%s", name, err, EnvBin)
		}
	}
	return p, nil
}

// binDir makes the directory for the programs of one checkout and one user.
// It lies in the temporary directory, under a name that anybody can guess, so
// its owner and mode are checked: nobody else may put programs there.
func binDir(root string) (string, error) {
	uid := os.Geteuid()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sandboxfs-test-bin-%d-%s", uid, shortHash(root)))
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || st.Uid != uint32(uid) || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not a directory that uid %s alone can write; remove it", dir, strconv.Itoa(uid))
	}
	return dir, nil
}

// lockDir makes concurrent test programs build one after the other.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
