package fs

import (
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// With passthrough the client's kernel reads and writes the host's file
// itself. It registers a backing file under an id and holds one per inode,
// which makes these invariants:
//
//   - while any file is open on an inode, every further open of it answers
//     with the same id; one without an id, or with another, fails with EIO.
//     So the first open decides, and the decision holds until the last close;
//   - an id is closed only when no open file is left, under the same lock
//     that counts them. RELEASE is asynchronous: the next OPEN may be handled
//     before it;
//   - an id pins the file that was registered, like a descriptor. What is
//     registered is the node's own O_PATH descriptor, which the kernel opens
//     again with each client's flags, and the id goes when the node closes
//     that: when the kernel forgets the node, when the budget of descriptors
//     wants it, or when it was not used for a while. So there are never more
//     ids than descriptors, and nothing is pinned for longer.
//
// Registering is a system call, an open(2) and an allocation in the kernel.
// Between the last close and the next open the id waits with the descriptor.
//
// What the quota counts and is writable never has a backing: a write that
// bypasses the server could not be refused.
//
// node.open guards the count, the decision and the id together.

// backer registers descriptors with the kernel; a connection is one.
type backer interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, unix.Errno)
	UnregisterBackingFd(int32) unix.Errno
}

type passthrough struct {
	backer  backer
	enabled atomic.Bool
	// opened and plain count opens with and without it.
	opened, plain atomic.Uint64
	ids           atomic.Int64 // registered
}

// register returns the id of a new backing file, 0 where there can be none.
func (p *passthrough) register(fd int) int32 {
	if !p.enabled.Load() {
		return 0
	}
	id, e := p.backer.RegisterBackingFd(&fuse.BackingMap{Fd: int32(fd)})
	switch e {
	case 0:
		p.ids.Add(1)
		return id
	case unix.EPERM, unix.ENOTTY, unix.EOPNOTSUPP, unix.EINVAL:
		// The right, the kernel or the mount lacks what it takes: for good.
		p.enabled.Store(false)
	}
	return 0
}

func (p *passthrough) unregister(id int32) {
	if id != 0 {
		p.ids.Add(-1)
		p.backer.UnregisterBackingFd(id)
	}
}
