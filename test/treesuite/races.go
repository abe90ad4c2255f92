package treesuite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// testHostRaces swaps directories for symbolic links on the host while a
// client uses the paths through them: nothing outside may be read or made.
func testHostRaces(t *testing.T, s Subject) {
	if s.Host == "" || s.Host == s.Dir {
		testenv.SkipArchitectural(t, "there is no host's side to confine the tree to")
	}
	dir, host := fresh(t, s)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "outside")
	// Many names, because the client's kernel remembers each for a while.
	const names = 300
	swap := func(i int) string { return fmt.Sprintf("swap-%d", i%names) }
	for i := range names {
		must(t, os.Mkdir(filepath.Join(host, swap(i)), 0o777))
		put(t, filepath.Join(host, swap(i), "secret"), "inside")
	}
	before := snapshot(t, outside)

	// The link's text means something else to a client in a namespace of its
	// own. Here both sides are in one, so a client that follows the link by
	// itself does reach the file: the server's answers are what is tested, by
	// operations relative to a held directory that never follow a last link.
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			at, aside := filepath.Join(host, swap(i)), filepath.Join(host, "aside")
			os.Rename(at, aside)
			os.Symlink(outside, at)
			os.Remove(at)
			os.Rename(aside, at)
		}
	})
	root := open(t, dir, os.O_RDONLY, 0)
	length := 3 * time.Second
	if s.Quick {
		length = time.Second
	}
	deadline := time.Now().Add(length)
	opened := 0
	for i := 0; time.Now().Before(deadline); i++ {
		opened += raceOnce(t, int(root.Fd()), swap(i*7), i)
	}
	close(stop)
	swapper.Wait()
	if opened == 0 {
		t.Error("the directory could never be opened; nothing was tested")
	}
	if after := snapshot(t, outside); after != before {
		t.Errorf("outside something changed:\n%s\nbefore:\n%s", after, before)
	}
}

// raceOnce opens the swapped directory without following a link, and works in
// what it got. It returns 1 if it got something.
func raceOnce(t *testing.T, root int, swap string, i int) int {
	d, err := unix.Openat(root, swap, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(d)
	if f, err := unix.Openat(d, "secret", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		buf := make([]byte, 20)
		n, _ := unix.Read(f, buf)
		if got := string(buf[:max(n, 0)]); strings.Contains(got, "outside") {
			t.Fatalf("round %d read what is outside", i)
		}
		unix.Close(f)
	}
	name := fmt.Sprintf("made-%d", i%50)
	unix.Mkdirat(d, name, 0o755)
	unix.Unlinkat(d, name, unix.AT_REMOVEDIR)
	unix.Symlinkat("x", d, name)
	unix.Renameat(d, name, d, name+"x")
	unix.Unlinkat(d, name+"x", 0)
	return 1
}

// testHammer lets many clients create, rename, link, list and remove the same
// few names at once, and checks that the tree is whole afterwards.
func testHammer(t *testing.T, s Subject) {
	dir, host := fresh(t, s)
	const clients, rounds, names = 8, 300, 6
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := range rounds {
				a := filepath.Join(dir, fmt.Sprintf("n%d", (c+i)%names))
				b := filepath.Join(dir, fmt.Sprintf("n%d", (c*3+i*7)%names))
				if err := hammerOnce(c*rounds+i, dir, a, b); err != nil {
					t.Errorf("client %d, round %d: %v", c, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	if host != "" {
		soon(t, "the same listing on both sides", func() bool {
			a, err1 := os.ReadDir(dir)
			b, err2 := os.ReadDir(host)
			return err1 == nil && err2 == nil && fmt.Sprint(a) == fmt.Sprint(b)
		})
	}
}

// hammerOnce does one of a few things to names that others use too, so the
// errors of losing a race are fine and all others are not.
func hammerOnce(i int, dir, a, b string) error {
	var err error
	switch i % 8 {
	case 0, 1:
		err = os.WriteFile(a, []byte(a), 0o644)
	case 2:
		err = os.Rename(a, b)
	case 3:
		err = os.Link(a, b)
	case 4:
		err = os.Remove(a)
	case 5:
		_, err = os.ReadFile(a)
	case 6:
		_, err = os.ReadDir(dir)
	case 7:
		if err = os.Mkdir(a, 0o755); err == nil {
			err = os.WriteFile(filepath.Join(a, "x"), nil, 0o644)
			os.RemoveAll(a)
		}
	}
	for _, fine := range []unix.Errno{0, unix.ENOENT, unix.EEXIST, unix.EISDIR, unix.ENOTDIR, unix.ENOTEMPTY, unix.EPERM} {
		if err == nil || is(err, fine) {
			return nil
		}
	}
	return err
}
