package jail

// This file runs as pid 1 of the sandbox, before anything untrusted does.

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// takeTree returns the mount of the tree, attached nowhere yet: the one that
// the host passed, or one made here and served by the host.
func takeTree(control *net.UnixConn, w *world, passed []*os.File) (*os.File, error) {
	if !w.MountInside {
		if len(passed) != 1 {
			return nil, failed("receive the tree", errors.New("no mount was passed"))
		}
		fd, err := unix.FcntlInt(passed[0].Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, failed("receive the tree", err)
		}
		return os.NewFile(uintptr(fd), "tree"), nil
	}
	fuse, err := openFuse()
	if err != nil {
		return nil, err
	}
	defer fuse.Close() // the host's copy keeps the connection
	tree, err := mountFuse(fuse, w.UID, w.GID)
	if err != nil {
		return nil, err
	}
	if err := send(control, message{Kind: kindFuse}, fuse); err != nil {
		tree.Close()
		return nil, failed("send the tree", err)
	}
	m, files, err := receive(control)
	closeAll(files)
	if err == nil && m.Kind != kindGo {
		err = fmt.Errorf("got %q", m.Kind)
	}
	if err != nil {
		tree.Close()
		return nil, failed("wait for the tree's server", err)
	}
	return tree, nil
}
