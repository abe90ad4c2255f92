package fs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// Tree is the filesystem of one thread in one view. It is served once, by
// [Tree.Serve]; until then [Tree.Close] frees it, afterwards its [Server].
// Its methods are safe for concurrent use.
type Tree struct {
	opts   Options
	log    logrus.FieldLogger
	root   *layout
	roots  map[string]*node // of regions, by virtual path
	procFD int              // /proc/self/fd
	budget int
	// handleRoots has, per device, a descriptor with which file handles can
	// be opened; empty without the right to.
	handleRoots map[uint64]int
	stackDepth  int
	mainDevice  uint64
	births      bool // the host keeps birth times in every region

	served    atomic.Bool
	handleFDs atomic.Int64
	pass      passthrough
	interest  interest
	moves     atomic.Uint64 // of nodes from one name to another
	dirents   sync.Pool     // of *[direntBuffer]byte

	// mu guards the inode table. It is the innermost lock, and no system
	// call is made under it.
	mu          sync.Mutex
	nodes       map[uint64]*node
	byKey       map[key]*node
	most        int // nodes at once, since memory was given back
	lastID      uint64
	held        int // descriptors of nodes
	files, dirs list
	tick        uint64
	evictions   uint64
	refusals    map[refusedTo]refusal // stale.go
	devices     map[uint64]uint64
	closed      bool

	handles handleTable
	watcher *watcher
	// With OpensUnasked (unasked.go, settle.go).
	listings listings
	settling settling
}

// New makes a tree from open directories. It fails on contradictory options,
// a root that is not a directory, and where /proc is missing.
func New(o Options) (*Tree, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	t := &Tree{
		opts: o, log: o.Log, budget: o.MaxDescriptors, procFD: -1, stackDepth: 1, births: true,
		nodes: map[uint64]*node{}, byKey: map[key]*node{}, devices: map[uint64]uint64{},
		roots: map[string]*node{}, handleRoots: map[uint64]int{}, refusals: map[refusedTo]refusal{},
	}
	t.watcher = newWatcher(t)
	if t.log == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		t.log = quiet
	}
	if t.budget == 0 {
		t.budget = defaultDescriptors()
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Tree) open() error {
	var err error
	if t.procFD, err = unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("fs: opening the process's descriptor directory: %w; mount /proc where the server runs", err)
	}
	regions := t.opts.Table.Regions()
	fds := map[string]int{}
	ids := map[string]identity{}
	for _, r := range regions {
		fd, id, err := openRoot(t.opts.Roots[r.Virtual])
		if err != nil {
			return fmt.Errorf("fs: region %s: %w", r.Virtual, err)
		}
		fds[r.Virtual], ids[r.Virtual] = fd, id
		t.roots[r.Virtual] = &node{fd: fd, ident: id} // so that Close finds it
		if len(fds) == 1 {
			t.mainDevice = id.dev
		}
		t.births = t.births && id.birth != 0
		t.prepareHandles(fd, id.dev)
		t.prepareStacking(fd)
	}
	doms := domains(regions, t.access, t.opts.Charged, ids)
	t.root = buildLayout(regions, func(region string) *node {
		t.lastID++
		n := &node{id: t.lastID, fd: -1, permanent: true}
		n.ident.kind = unix.S_IFDIR
		if region != "" {
			n.domain, n.fd, n.ident = doms[region], fds[region], ids[region]
			t.roots[region] = n
			t.held++
		}
		t.nodes[n.id] = n
		return n
	})
	return nil
}

// access is what a region allows in this tree.
func (t *Tree) access(r mapping.Region) mapping.Access {
	if t.unasked() {
		return mapping.ReadOnly
	}
	return r.Access(t.opts.View)
}

// openRoot takes its own descriptor of a region's directory.
func openRoot(f *os.File) (int, identity, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, identity{}, err
	}
	fd := -1
	var e unix.Errno
	if err := raw.Control(func(from uintptr) { fd, e = openAt(int(from), ".", unix.O_PATH|unix.O_DIRECTORY, 0) }); err != nil {
		return -1, identity{}, err
	}
	if e != 0 {
		return -1, identity{}, fmt.Errorf("opening its directory: %w; make sure that it exists and can be searched", e)
	}
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		unix.Close(fd)
		return -1, identity{}, fmt.Errorf("reading its attributes: %w", e)
	}
	return fd, identityOf(&st), nil
}

// prepareHandles finds out whether inodes of a device can be reopened by
// file handle.
func (t *Tree) prepareHandles(root int, dev uint64) {
	if _, ok := t.handleRoots[dev]; ok {
		return
	}
	fd, e := openAt(root, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if e != 0 {
		return
	}
	if !probeHandles(fd) {
		unix.Close(fd)
		return
	}
	t.handleRoots[dev] = fd
}

// prepareStacking allows passthrough to a filesystem that is itself stacked.
// A mount that allows it cannot become a lower layer of an overlay, so it is
// not the default.
func (t *Tree) prepareStacking(root int) {
	var st unix.Statfs_t
	if unix.Fstatfs(root, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		t.stackDepth = 2
	}
}

// Close frees a tree that was never served; for a served one it does nothing,
// [Server.Close] ends it.
func (t *Tree) Close() error {
	if !t.served.CompareAndSwap(false, true) {
		return nil
	}
	t.free()
	return nil
}

// free closes every descriptor. No handler may be running.
func (t *Tree) free() {
	t.handles.closeAll(t)
	t.unkeepAll()
	t.settling.stop()
	t.listings.closeAll(t, time.Now().Add(CacheTime))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for _, n := range t.roots {
		closeFD(n.fd)
		n.fd = -1
	}
	for _, n := range t.nodes {
		if n.contents != nil {
			unix.Close(n.contents.fd)
			n.contents = nil
		}
		closeFD(n.fd)
		n.fd = -1
	}
	for _, fd := range t.handleRoots {
		closeFD(fd)
	}
	closeFD(t.procFD)
	t.nodes, t.byKey, t.handleRoots, t.held = nil, nil, nil, 0
	t.files, t.dirs = list{}, list{}
}
