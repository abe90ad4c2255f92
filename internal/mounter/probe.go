package mounter

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// probeTimeout is how long a mount may take to answer one request before it
// counts as one that lives and hangs.
const probeTimeout = 3 * time.Second

// isDead reports whether the server of what is mounted at a path is gone.
// statfs(2) always asks the server, while other calls may be answered by what
// the kernel remembers.
func isDead(point string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	err := ask(ctx, func() error {
		var st unix.Statfs_t
		return unix.Statfs(point, &st)
	})
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}

// answers reports whether a name below a mount can be looked up.
func answers(ctx context.Context, point string) error {
	return ask(ctx, func() error {
		var st unix.Stat_t
		return unix.Lstat(point+"/mnt", &st)
	})
}

// ask makes a system call on a mount and gives up when ctx ends. The call's
// thread stays behind until the mount answers or ends.
func ask(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() {
		err := call()
		for errors.Is(err, unix.EINTR) {
			err = call()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
