package fs

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// identity tells one file of the host from another. The birth time catches
// an inode number that the host gave to a new file while no descriptor of
// ours kept the old one alive.
type identity struct {
	dev, ino   uint64
	kind       uint32
	birth      int64
	birthNanos uint32
}

func identityOf(st *unix.Statx_t) identity {
	id := identity{dev: device(st), ino: st.Ino, kind: fileType(st)}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.birth, id.birthNanos = st.Btime.Sec, st.Btime.Nsec
	}
	return id
}

// key finds a node in the table. The domain is part of it, so that one host
// file reached through a writable and a read-only region is two nodes, each
// with its own answer to a write.
type key struct {
	domain   *domain
	dev, ino uint64
}

// node is one inode as the client's kernel knows it.
type node struct {
	// Fixed at creation.
	id        uint64
	domain    *domain // nil for a directory that exists only in the table
	ident     identity
	permanent bool // the root, synthetic directories, roots of regions

	// Guarded by Tree.mu.
	fd       int       // O_PATH descriptor, -1 while closed
	pins     int       // users of fd: handlers at work and open files
	lookups  uint64    // what the kernel will give back by FORGET
	seen     time.Time // when it was looked up last
	parent   *node     // where the node was seen last; nil: cannot be reopened by name
	name     string
	handle   *unix.FileHandle // to reopen without a name, where permitted
	layout   *layout          // what the table puts below this directory
	detached bool             // no longer found by key
	inList   bool             // in the list of unused descriptors
	prev     *node
	next     *node
	used     uint64 // tick of the last use

	// sure is when the names that lead here were right (sure.go).
	sure atomic.Uint64

	// bare is whether a listing has left out what is behind its names.
	bare atomic.Bool
	// Guarded by watcher.mu.
	watch     *watch // of this directory
	watchless bool   // it cannot be watched
	said      saying // of the attributes

	written atomic.Bool // by a client, through the server

	// open guards what follows. It is taken before Tree.mu, never after.
	open     sync.Mutex
	opens    int       // open files
	openDirs int       // open directories
	backing  int32     // passthrough id, 0: none; fixed while opens > 0
	fresh    version   // contents, or names, that the client's kernel may hold
	kept     bool      // Options.Quota has been told that it is open
	listed   time.Time // when a client began to read the directory
	contents *contents // to read from, with OpensUnasked
}

// version tells two states of a file's contents apart.
type version struct {
	size         uint64
	mtime, ctime unix.StatxTimestamp
}

func versionOf(st *unix.Statx_t) version {
	return version{size: st.Size, mtime: st.Mtime, ctime: st.Ctime}
}

func (n *node) synthetic() bool { return n.domain == nil }

// writeError is what every write to the node, of any kind, answers; 0 means
// that writes are allowed.
func (n *node) writeError() unix.Errno {
	if n.domain == nil || n.domain.readOnly {
		return unix.EROFS
	}
	return 0
}

// passes reports whether the kernel reads and writes the file itself, and so
// keeps no pages of it.
func (n *node) passes() bool {
	n.open.Lock()
	defer n.open.Unlock()
	return n.backing != 0
}
