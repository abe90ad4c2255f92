package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// takeTree returns the mount of the tree, attached nowhere yet: the one that
// the host passed, or one made here and served by the host. After it comes the
// second, if there is one.
func takeTree(control *net.UnixConn, w *world, passed []*os.File) ([]*os.File, error) {
	if w.MountInside {
		return mountInside(control, w)
	}
	want := 1
	if w.Second {
		want = 2
	}
	if len(passed) != want {
		return nil, failed("receive the tree", fmt.Errorf("%d mounts were passed, not %d", len(passed), want))
	}
	var mounts []*os.File
	for _, f := range passed {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeAll(mounts)
			return nil, failed("receive the tree", err)
		}
		mounts = append(mounts, os.NewFile(uintptr(fd), "tree"))
	}
	return mounts, nil
}

// mountInside mounts the tree in this user namespace and has the host serve it.
func mountInside(control *net.UnixConn, w *world) ([]*os.File, error) {
	fuse, tree, err := newTree(w.UID, w.GID, writable)
	if err != nil {
		return nil, err
	}
	devices, mounts := []*os.File{fuse}, []*os.File{tree}
	defer func() { closeAll(devices) }() // the host's copies keep the connections
	if w.Second {
		fuse, second, err := newTree(w.UID, w.GID, readOnly)
		if err != nil {
			w.noSecond(err)
		} else {
			devices, mounts = append(devices, fuse), append(mounts, second)
		}
	}
	if err := send(control, message{Kind: kindFuse}, devices...); err != nil {
		closeAll(mounts)
		return nil, failed("send the tree", err)
	}
	m, files, err := receive(control)
	closeAll(files)
	if err == nil && m.Kind != kindGo {
		err = fmt.Errorf("got %q", m.Kind)
	}
	if err != nil {
		closeAll(mounts)
		return nil, failed("wait for the tree's server", err)
	}
	if m.Second != nil {
		w.noSecond(m.Second.err())
		closeAll(mounts[1:])
		mounts = mounts[:1]
	}
	return mounts, nil
}
