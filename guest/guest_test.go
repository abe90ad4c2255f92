package guest_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sandboxfs/sandboxfs/test/execsuite"
	"github.com/sandboxfs/sandboxfs/test/filesuite"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "slot" {
		exec.SlotMain()
	}
	os.Exit(m.Run())
}

// startGuest serves a guest on the plain machine, with a temporary directory
// as workspace, and returns a client.
func startGuest(t testing.TB, change func(*guest.ServerOptions)) (*guest.Client, string) {
	t.Helper()
	dir := t.TempDir()
	e, err := exec.New(exec.Config{MaxProcesses: 5000})
	if err != nil {
		t.Skipf("no executor on this machine: %v", err)
	}
	o := guest.ServerOptions{Executor: e, Workdir: dir, DownloadRoot: dir, Identity: provider.Info{ID: "local:t", Thread: "t"}}
	if change != nil {
		change(&o)
	}
	sock := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- guest.Serve(ctx, ln, o) }()
	c := guest.NewClient(guest.ClientOptions{ID: "local:t", Thread: "t", DownloadRoot: dir, Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", sock)
	}})
	t.Cleanup(func() {
		c.Close()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("Serve did not return")
		}
		if err := e.Close(); err != nil {
			t.Errorf("Close the executor: %v", err)
		}
	})
	return c, dir
}

func TestFileSuite(t *testing.T) {
	c, dir := startGuest(t, nil)
	filesuite.Run(t, func(testing.TB) provider.Sandbox { return c }, filesuite.Facts{
		Dir: dir, Undownloadable: "/etc/passwd", Privileged: os.Getuid() == 0,
	})
}

func TestExecSuite(t *testing.T) {
	c, dir := startGuest(t, nil)
	execsuite.Run(t, func(testing.TB) provider.Sandbox { return c }, execsuite.Facts{Dir: dir, Workdir: dir})
}
