package fs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
)

// Close must end a connection whose mount is still there and in use, and
// leave nothing open in the serving process.
func TestCloseAborts(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	name := filepath.Join(m.Dir, "mnt/user-data/workspace/f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := time.Now()
	if got := m.ask(t, "close"); got != "closed <nil>" {
		t.Fatalf("Close: %s", got)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Close took %v", d)
	}
	if _, err := os.Stat(name + "x"); !errors.Is(err, unix.ENOTCONN) {
		t.Errorf("stat after Close: %v, want ENOTCONN", err)
	}
	// What is left is main and the reader of standard input.
	const want = "2 []"
	got := m.ask(t, "resources")
	for end := time.Now().Add(3 * time.Second); got != want && time.Now().Before(end); {
		got = m.ask(t, "resources") // goroutines may still be on their way out
	}
	if got != want {
		t.Errorf("goroutines and descriptors left after Close: %s, want %s", got, want)
	}
}

// The same while clients keep the server busy.
func TestCloseUnderLoad(t *testing.T) {
	w := newWorld(t)
	m := mount(t, childSpec{Regions: w.regions}, fs.MountOptions{}, nil)
	work := filepath.Join(m.Dir, "mnt/user-data/workspace")
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for j := 0; ; j++ {
				name := filepath.Join(work, fmt.Sprintf("%d-%d", i, j))
				if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
					if !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
						t.Errorf("a client got %v, want ENOTCONN or ECONNABORTED", err)
					}
					return
				}
				os.Remove(name)
			}
		})
	}
	start := time.Now()
	if got := m.ask(t, "close"); got != "closed <nil>" {
		t.Errorf("Close: %s", got)
	}
	clients.Wait()
	t.Logf("closed after %v", time.Since(start))
}
