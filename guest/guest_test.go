package guest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/execsuite"
	"github.com/sandboxfs/sandboxfs/test/filesuite"
)

// slotProgram is what slots execute; empty means this test binary, which must
// be static for that.
var slotProgram string //nolint:gochecknoglobals // set once, by TestMain

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "slot" {
		exec.SlotMain()
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if cgo {
		dir, err := os.MkdirTemp("", "slot")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		slotProgram = filepath.Join(dir, "slot")
		build := osexec.Command("go", "test", "-c", "-o", slotProgram, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build a static slot: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// newExecutor makes one on the plain machine.
func newExecutor(t testing.TB, forms ...exec.Form) *exec.Executor {
	t.Helper()
	c := exec.Config{SlotPath: slotProgram, MaxProcesses: 5000}
	for _, f := range forms {
		c.Form = f
	}
	e, err := exec.New(c)
	if err != nil {
		testenv.Skip(t, fmt.Sprintf("commands cannot be run here: %v", err))
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close the executor: %v", err)
		}
	})
	return e
}

// running is a guest on the plain machine, with a temporary directory as its
// workspace.
type running struct {
	*guest.Client
	dir, socket string
	done        chan error
}

// startGuest serves until the test ends.
func startGuest(t testing.TB, change func(*guest.ServerOptions)) *running {
	t.Helper()
	r := &running{dir: t.TempDir(), socket: filepath.Join(t.TempDir(), "s"), done: make(chan error, 1)}
	o := guest.ServerOptions{Executor: newExecutor(t), Workdir: r.dir, DownloadRoot: r.dir, Identity: provider.Info{ID: "local:t", Thread: "t", Isolation: map[string]string{"tier": "none"}}}
	if change != nil {
		change(&o)
	}
	ln, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		r.done <- guest.Serve(ctx, ln, o)
		close(r.done)
	}()
	r.Client = clientOf(r.socket, r.dir)
	t.Cleanup(func() {
		r.Client.Close()
		cancel()
		r.wantEnd(t)
	})
	return r
}

func clientOf(socket, dir string) *guest.Client {
	return guest.NewClient(guest.ClientOptions{ID: "local:t", Thread: "t", DownloadRoot: dir, Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}})
}

// wantEnd waits until Serve has returned.
func (r *running) wantEnd(t testing.TB) {
	t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Serve did not return")
	}
}

func TestFileSuite(t *testing.T) {
	g := startGuest(t, nil)
	filesuite.Run(t, func(testing.TB) provider.Sandbox { return g }, filesuite.Facts{
		Dir: g.dir, Undownloadable: "/etc/passwd", Privileged: os.Getuid() == 0,
	})
}

func TestExecSuite(t *testing.T) {
	g := startGuest(t, nil)
	execsuite.Run(t, func(testing.TB) provider.Sandbox { return g }, execsuite.Facts{Dir: g.dir, Workdir: g.dir})
}
