package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/mountinfo"
	"golang.org/x/sys/unix"
)

// The names of the subjects, as the table shows them.
const (
	plain          = "plain"
	oursSandbox    = "sandbox"
	oursMount      = "mount"
	peerBindfs     = "bindfs"
	peerLoopback   = "loopback"
	peerOverlayfs  = "fuse-overlayfs"
	mountDeadline  = 30 * time.Second
	serverDeadline = 10 * time.Second
)

// order is that of the columns.
func order() []string {
	return []string{plain, oursSandbox, oursMount, peerBindfs, peerLoopback, peerOverlayfs}
}

// ours reports whether a subject is a tree of sandboxfs.
func ours(name string) bool { return name == oursSandbox || name == oursMount }

// A subject is a view of a directory that is measured.
type subject struct {
	name string
	// namespace, dir and readOnly are as in job.
	namespace, dir, readOnly string
	// abort kills what serves it, so that all who wait for it go on.
	abort func()
}

// A server is a process that serves a mount of a peer.
type server struct {
	point string
	cmd   *osexec.Cmd
	ended chan struct{} // closed when it has ended
	log   *os.File
}

// startServer starts a program that mounts at a point and stays in the
// foreground, and returns when it is mounted.
func (s *stage) startServer(ctx context.Context, point string, argv ...string) error {
	ctx, cancel := context.WithTimeout(ctx, mountDeadline)
	defer cancel()
	log, err := os.Create(point + ".log")
	if err != nil {
		return err
	}
	cmd := osexec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	// An interrupt from the terminal is for the benchmark, which unmounts.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	v := &server{point: point, cmd: cmd, ended: make(chan struct{}), log: log}
	s.servers = append(s.servers, v)
	go func() {
		_ = cmd.Wait() // whatever its status, it serves no more
		close(v.ended)
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		mounted, err := mountsBelow(point)
		if err != nil {
			return err
		}
		if len(mounted) > 0 {
			return nil
		}
		select {
		case <-v.ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s ended: %s", filepath.Base(argv[0]), strings.Join(strings.Fields(string(text)), " "))
		case <-ctx.Done():
			return fmt.Errorf("%s did not mount: %w", filepath.Base(argv[0]), ctx.Err())
		case <-tick.C:
		}
	}
}

// stop unmounts and waits until the server has ended, by force where it hangs.
func (v *server) stop() error {
	err := detach(v.point)
	select {
	case <-v.ended:
	case <-time.After(serverDeadline):
		err = errors.Join(err, v.cmd.Process.Kill())
		<-v.ended
	}
	return errors.Join(err, v.log.Close())
}

// detach takes all that is mounted at a point away.
func detach(point string) error {
	for {
		mounted, err := mountsBelow(point)
		if err != nil || len(mounted) == 0 {
			return err
		}
		last := mounted[len(mounted)-1]
		if os.Geteuid() == 0 {
			err = unix.Unmount(last, unix.MNT_DETACH)
		} else {
			ctx, cancel := context.WithTimeout(context.Background(), serverDeadline)
			err = osexec.CommandContext(ctx, "fusermount3", "-u", "-z", last).Run()
			cancel()
		}
		if err != nil {
			return fmt.Errorf("unmount %s: %w", last, err)
		}
	}
}

// mountsBelow returns the mount points at or below a directory, the newest
// last. It looks at none of them.
func mountsBelow(dir string) ([]string, error) {
	table, err := mountinfo.Read()
	return pointsBelow(table, dir), err
}

func pointsBelow(table mountinfo.Table, dir string) (points []string) {
	for _, m := range table {
		if mountinfo.Within(m.Point, dir) {
			points = append(points, m.Point)
		}
	}
	return points
}
