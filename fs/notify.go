package fs

import (
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// notifier tells the client's kernel to drop what it keeps of a node or a
// name, before the time that it may keep it is over.
//
// The kernel takes locks of its own for that, which a client may hold while
// it waits for one of our handlers. So a notice is only queued by whoever has
// something to say, and written by a goroutine that holds no lock; and the
// goroutine ends before the readers do.
//
// That leaves the death of the server by a signal. A notice that waits in the
// kernel for a lock cannot be killed; whoever holds the lock waits for an answer
// that does not come; and the kernel ends requests that a device has read only
// when the device is closed, which the thread that waits would hold up, for
// ever. So notices go through a device of their own, on a thread that holds
// nothing else (apart).
type notifier struct {
	fd    int
	ended chan struct{}

	mu    sync.Mutex
	more  *sync.Cond // something is queued, or it is over
	room  *sync.Cond // there is room, or it is over
	queue [][]byte
	stop  bool
}

// maxNotices bounds the queue. Who finds it full waits, or lets time do the
// rest.
const maxNotices = 4096

// newNotifier starts one for the connection of a device. alone is nil if it
// has a device of its own; else it shares this one, and is to be used for what
// cannot do without.
func newNotifier(fd int) (n *notifier, alone error) {
	n = &notifier{fd: fd, ended: make(chan struct{})}
	n.more, n.room = sync.NewCond(&n.mu), sync.NewCond(&n.mu)
	own, err := cloneDevice(fd)
	if err == nil {
		n.fd = own
		if err = apart(own, func() { n.run(); unix.Close(own); close(n.ended) }); err == nil {
			return n, nil
		}
		unix.Close(own)
		n.fd = fd
	}
	go func() { n.run(); close(n.ended) }()
	return n, err
}

// inode drops the attributes of a node and, unless off is negative, what is
// kept of its contents from there on; length 0 is all of it. It reports
// whether there was room in the queue.
func (n *notifier) inode(id uint64, off, length int64) bool {
	return n.add(fuse.NOTIFY_INVAL_INODE, asBytes(&fuse.NotifyInvalInodeOut{Ino: id, Off: off, Length: length}), "")
}

// entry drops a name, present or absent, in a directory.
func (n *notifier) entry(parent uint64, name string) bool {
	return n.add(fuse.NOTIFY_INVAL_ENTRY, asBytes(&fuse.NotifyInvalEntryOut{Parent: parent, NameLen: uint32(len(name))}), name)
}

// deleted drops a name that led to child, also when child is in use.
func (n *notifier) deleted(parent, child uint64, name string) bool {
	return n.add(fuse.NOTIFY_DELETE, asBytes(&fuse.NotifyInvalDeleteOut{Parent: parent, Child: child, NameLen: uint32(len(name))}), name)
}

func asBytes[T any](t *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t))
}

// add queues a notice of a kind (fuse.NOTIFY_*, negative).
func (n *notifier) add(kind int32, fixed []byte, name string) bool {
	return n.put(encode(kind, fixed, name), false)
}

// notice is what the kernel is told to drop.
type notice struct {
	kind  int32 // fuse.NOTIFY_*
	id    uint64
	off   int64 // from where on contents are dropped; of an entry, its flags
	entry string
}

// expiryOf ends the time for which the kernel may believe a name. It is looked
// up again at its next use, and goes on leading where it did for who is there
// already: what is mounted below a directory stays.
func expiryOf(parent uint64, name string) notice {
	return notice{kind: fuse.NOTIFY_INVAL_ENTRY, id: parent, off: fuse.EXPIRE_ONLY, entry: name}
}

// lossOf drops a name that does not lead to a node any more. Unless that is a
// directory, the kernel forgets it at once if nobody has it open, and its
// space on the host can be free.
func lossOf(parent uint64, name string, n *node) notice {
	loss := expiryOf(parent, name)
	if n != nil && n.ident.kind != unix.S_IFDIR {
		loss.off = 0
	}
	return loss
}

// attributesOf drops the attributes of a node.
func attributesOf(id uint64) notice { return notice{kind: fuse.NOTIFY_INVAL_INODE, id: id, off: -1} }

// dropOf drops the attributes and the contents, or names, of a node.
func dropOf(id uint64) notice { return notice{kind: fuse.NOTIFY_INVAL_INODE, id: id} }

// say queues a notice and waits for room if there is none. It reports whether
// the connection lives. No handler may call it.
func (n *notifier) say(what notice) bool {
	if what.kind == fuse.NOTIFY_INVAL_ENTRY {
		return n.put(encode(what.kind, asBytes(&fuse.NotifyInvalEntryOut{Parent: what.id, NameLen: uint32(len(what.entry)), Flags: uint32(what.off)}), what.entry), true)
	}
	return n.put(encode(what.kind, asBytes(&fuse.NotifyInvalInodeOut{Ino: what.id, Off: what.off}), ""), true)
}

// encode makes the message of a notice.
func encode(kind int32, fixed []byte, name string) []byte {
	size := outHeader + len(fixed)
	if name != "" {
		size += len(name) + 1
	}
	header := fuse.OutHeader{Length: uint32(size), Status: -kind}
	message := append(make([]byte, 0, size), asBytes(&header)...)
	message = append(message, fixed...)
	if name != "" {
		message = append(append(message, name...), 0)
	}
	return message
}

// put queues a message. It reports whether that was possible.
func (n *notifier) put(message []byte, wait bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for wait && len(n.queue) >= maxNotices && !n.stop {
		n.room.Wait()
	}
	if n.stop || len(n.queue) >= maxNotices {
		return false
	}
	n.queue = append(n.queue, message)
	n.more.Signal()
	return true
}

// run writes notices. What the kernel does not know (ENOENT) needs none, and
// what it cannot do (ENOTEMPTY, EINVAL) is over when the time it may keep
// things for is.
func (n *notifier) run() {
	for {
		n.mu.Lock()
		for len(n.queue) == 0 && !n.stop {
			n.more.Wait()
		}
		queue := n.queue
		n.queue = nil
		n.room.Broadcast()
		stop := n.stop
		n.mu.Unlock()
		if stop {
			return
		}
		for _, notice := range queue {
			if n.stopped() {
				return
			}
			unix.Write(n.fd, notice)
		}
	}
}

func (n *notifier) stopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stop
}

// close drops what is queued. ended tells when the notice at work is written.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = true
	n.more.Signal()
	n.room.Broadcast()
}
