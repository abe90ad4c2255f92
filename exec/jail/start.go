package jail

import (
	"context"
	"os"
	"time"
)

// startLimit bounds Start when its context has no deadline.
const startLimit = 30 * time.Second

// guestEnv is the whole environment of pid 1; nothing of the caller's gets in.
var guestEnv = [...]string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LANG=C.UTF-8",
}

// oneThread is for a start, which is one step after the other: more threads
// would only cost time. Inside.Ready lifts it.
const oneThread = "GOMAXPROCS=1"

// builderEnv is what its first execution has besides: it runs for some
// milliseconds and needs no garbage collector for that.
var builderEnv = [...]string{oneThread, "GOGC=off"}

// Start builds a sandbox and returns when its guest has said that it is ready.
// The context bounds the start only. On an error nothing is left: no process,
// no mount, no descriptor, no cgroup; the error is an [*Error] that names the
// failing call and its cure. There is no quiet step down to less isolation.
// The caller ends the sandbox with Close. Safe for concurrent use.
func Start(ctx context.Context, s Spec) (*Jail, error) {
	s, err := s.resolved()
	if err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startLimit)
		defer cancel()
	}
	j := &Jail{done: make(chan struct{})}
	if err := j.start(ctx, s); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

func (j *Jail) start(ctx context.Context, s Spec) error {
	w := newWorld(s)
	if err := j.limit(s, w); err != nil {
		return err
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return failed("socketpair", err)
	}
	j.control = ours
	err = j.spawn(s, w, theirs)
	theirs.Close()
	if err != nil {
		return err
	}
	// Pid 1 waits for its world, so all this comes in time; and its own start
	// takes as long.
	freeChild(j.child.pid)
	if s.Tier == Isolated {
		w.Isolation["sysv_ipc"] = boundIPC(j.child.pid, s.TmpBytes)
	}
	files := []*os.File{s.Listener}
	if !w.MountInside {
		mounts, err := serveOutside(s, w)
		if err != nil {
			return err
		}
		defer closeAll(mounts)
		files = append(files, mounts...)
	}
	stop := context.AfterFunc(ctx, func() { ours.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := j.handshake(s, w, files); err != nil {
		return j.explain(ctx, err)
	}
	if !stop() {
		return j.explain(ctx, ctx.Err())
	}
	return nil
}

// serveOutside mounts the tree attached nowhere, has it served, and returns
// the mount; after it, the second one if there is to be one.
func serveOutside(s Spec, w *world) ([]*os.File, error) {
	fuse, tree, err := newTree(0, 0, writable)
	if err != nil {
		return nil, err
	}
	if err := s.Serve(fuse); err != nil {
		tree.Close()
		return nil, failed("serve the tree", err)
	}
	mounts := []*os.File{tree}
	if !w.Second {
		return mounts, nil
	}
	fuse, second, err := newTree(0, 0, readOnly)
	if err == nil {
		if err = s.ServeReadOnly(fuse); err != nil {
			second.Close()
			err = failed("serve the read-only tree", err)
		}
	}
	if err != nil {
		w.noSecond(err)
		return mounts, nil
	}
	return append(mounts, second), nil
}
