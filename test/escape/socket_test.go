package escape

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// socketNotTouched leaves a listening socket in the workspace and looks
// whether the file calls connect to it or wait for it.
func socketNotTouched(r *trial, _ Outcome) error {
	const name = "host.sock"
	// The directory's path can be too long for a socket's address.
	dir, err := os.Open(r.workspace(r.thread))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	if err := r.own(filepath.Join(dir.Name(), name)); err != nil {
		return err
	}

	within := time.Duration(float64(10*time.Second) * r.slack)
	o, err := r.call(within, "read", r.thread, "/mnt/user-data/workspace/"+name, nil)
	if err != nil {
		return err
	}
	if o.Code == 0 {
		return fmt.Errorf("reading a socket as a file succeeded")
	}
	if o, err = r.call(within, "list", r.thread, "/mnt/user-data/workspace", nil); err != nil || o.Code != 0 {
		return fmt.Errorf("listing: status %d, %v: %s", o.Code, err, o.Stderr)
	}
	if want := "socket /mnt/user-data/workspace/" + name; !strings.Contains(string(o.Stdout), want) {
		return fmt.Errorf("want %q in the listing, got %q", want, o.Stdout)
	}
	if err := l.SetDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		return err
	}
	if conn, err := l.Accept(); err == nil {
		_ = conn.Close()
		return fmt.Errorf("somebody connected to the socket")
	}
	return nil
}

func ownerOf(name string) (int, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("no owner of %s", name)
	}
	return int(st.Uid), nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
