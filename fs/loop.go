package fs

import (
	"fmt"
	"log"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// connection is the kernel's end of a tree: the fuse device and the readers
// that serve it.
//
// A reader reads a request, handles it and writes the reply, with the same
// two buffers for ever and without handing anything to another goroutine:
// most requests take less time than that would. Two readers are enough for
// requests of that kind, and the fewer there are, the more often the one that
// is woken still has its thread's data at hand. A request that takes long,
// such as one that waits for a disk, leaves one reader; when all are busy for
// longer than patience another is added, which leaves again when enough of
// them wait.
type connection struct {
	raw
	fd       int // blocking, except while the connection is being closed
	protocol *fuse.ProtocolServer
	notify   *notifier
	running  sync.WaitGroup
	closing  atomic.Bool
	settled  uint64 // capabilities (fuse.CAP_*) that both sides have

	readers, busy atomic.Int32
	handled       atomic.Uint64 // requests so far

	mu       sync.Mutex // for a change of the number of readers
	all      map[*reader]struct{}
	watch    *time.Timer
	watching atomic.Bool
	seen     atomic.Uint64 // handled when the watch was set
}

// Processors is the GOMAXPROCS with which a process serves a tree fastest.
// With more, the readers, of which the kernel wakes the one that has waited
// longest, wake and stop each other's threads: opening a file takes half as
// long again. A reader in a system call keeps nobody from running.
const Processors = 1

const (
	// steadyReaders stay for ever.
	steadyReaders = 2
	// maxReaders bounds them all: as many requests can be at work at once.
	maxReaders = 256
	// patience is how long all readers may be busy with the same requests.
	patience = time.Millisecond
)

// connect answers the kernel's first request, which settles what both sides
// can do.
func connect(t *Tree, fd int) (*connection, error) {
	c := newConnection(t, fd)
	r, err := newReader(c)
	if err != nil {
		return nil, err
	}
	defer r.free()
	n, e := r.read()
	if e != 0 {
		return nil, fmt.Errorf("fs: starting the connection: %w; check that the device is mounted", e)
	}
	if e := r.greet(n); e != 0 {
		return nil, fmt.Errorf("fs: starting the connection: %w", e)
	}
	return c, nil
}

func newConnection(t *Tree, fd int) *connection {
	c := &connection{raw: raw{fuse.NewDefaultRawFileSystem(), t}, fd: fd, all: map[*reader]struct{}{}}
	c.protocol = fuse.NewProtocolServer(&c.raw, t.mountOptions())
	c.watch = time.AfterFunc(time.Hour, c.look)
	c.watch.Stop()
	return c
}

// run starts the readers.
func (c *connection) run() error {
	var readers []*reader
	for range steadyReaders {
		r, err := newReader(c)
		if err != nil {
			for _, r := range readers {
				r.free()
			}
			return err
		}
		readers = append(readers, r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range readers {
		c.add(r)
	}
	return nil
}

// add lets one more reader serve. The caller holds c.mu.
func (c *connection) add(r *reader) {
	c.readers.Add(1)
	c.all[r] = struct{}{}
	c.running.Go(func() {
		r.serve()
		c.mu.Lock()
		delete(c.all, r)
		c.mu.Unlock()
		r.free()
	})
}

// begin counts a request that is at work.
func (c *connection) begin(op uint32) {
	if c.busy.Add(1) < c.readers.Load() {
		return
	}
	if waits(op) {
		c.grow()
	} else {
		c.watchAll()
	}
}

// watchAll looks again after patience, when all readers are busy.
func (c *connection) watchAll() {
	if c.watching.CompareAndSwap(false, true) {
		c.seen.Store(c.handled.Load())
		c.watch.Reset(patience)
	}
}

// end counts it as handled, and reports whether its reader is to go.
func (c *connection) end() (leave bool) {
	c.handled.Add(1)
	busy := c.busy.Add(-1)
	if readers := c.readers.Load(); readers <= steadyReaders || readers-busy <= steadyReaders {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if readers := c.readers.Load(); readers <= steadyReaders || readers-c.busy.Load() <= steadyReaders {
		return false
	}
	c.readers.Add(-1)
	if c.busy.Load() >= c.readers.Load() {
		c.watchAll() // they have become busy as some of more
	}
	return true
}

// look is called some time after all readers were busy.
func (c *connection) look() {
	c.watching.Store(false)
	if c.busy.Load() < c.readers.Load() {
		return
	}
	if c.handled.Load() == c.seen.Load() {
		c.grow()
	}
	if c.busy.Load() >= c.readers.Load() {
		c.watchAll()
	}
}

// grow adds a reader if all are still busy.
func (c *connection) grow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	readers := c.readers.Load()
	if c.closing.Load() || readers >= maxReaders || c.busy.Load() < readers {
		return
	}
	r, err := newReader(c)
	if err != nil {
		c.log.WithError(err).Warn("no further request can be read for now")
		return
	}
	c.add(r)
}

// inFlight returns a function that tells whether all requests that are at
// work now have been answered.
func (c *connection) inFlight() func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	type turn struct {
		r  *reader
		at uint64
	}
	var busy []turn
	for r := range c.all {
		if at := r.turns.Load(); at%2 == 1 {
			busy = append(busy, turn{r, at})
		}
	}
	return func() bool {
		for _, b := range busy {
			if b.r.turns.Load() == b.at {
				return false
			}
		}
		return true
	}
}

// shrink lets idle readers give back the memory of large requests. They wait
// in a read, which has to be ended for that.
func (c *connection) shrink() {
	if !c.anyLarge() {
		return
	}
	c.setNonblock(true)
	defer c.setNonblock(false)
	for range 20 {
		signalThreads()
		time.Sleep(time.Millisecond)
		if !c.anyLarge() {
			return
		}
	}
}

// setNonblock ends reads that wait, together with a signal, or lets them wait
// again, unless the connection is being closed.
func (c *connection) setNonblock(nonblocking bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unix.SetNonblock(c.fd, nonblocking || c.closing.Load())
}

func (c *connection) anyLarge() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.all {
		if r.large.Load() {
			return true
		}
	}
	return false
}

// RegisterBackingFd tells the kernel of a file that it may read and write
// itself, and returns its id.
func (c *connection) RegisterBackingFd(m *fuse.BackingMap) (int32, unix.Errno) {
	return backingOpen(c.fd, m)
}

// UnregisterBackingFd takes an id back.
func (c *connection) UnregisterBackingFd(id int32) unix.Errno { return backingClose(c.fd, id) }

// mountOptions are what the first request settles, and what happens to
// requests that the library handles.
func (t *Tree) mountOptions() *fuse.MountOptions {
	o := &fuse.MountOptions{
		MaxBackground: 64,
		MaxWrite:      maxRequest,
		MaxStackDepth: t.stackDepth,
		Logger:        log.New(logWriter{t}, "", 0),
		PanicHandler:  t.recovered,
		// Never the writeback cache: it would hide the host's changes and
		// lose acknowledged writes.
		DisabledCapabilities: fuse.CAP_WRITEBACK_CACHE,
		// A link's text never changes, but its inode number may be given away.
		EnableSymlinkCaching: t.births,
	}
	if t.opts.Ownership == Owner {
		// One request less for each file that is overwritten. In mode Preserve
		// the client's kernel decides about set-user-id bits at a truncation,
		// and it is asked only if it truncates.
		o.ExtraCapabilities |= fuse.CAP_ATOMIC_O_TRUNC
	}
	if t.unasked() {
		o.ExtraCapabilities |= unaskedCapabilities
	}
	if !t.wantPassthrough() {
		o.DisabledCapabilities |= fuse.CAP_PASSTHROUGH
	}
	return o
}

type logWriter struct{ t *Tree }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.log.WithField("from", "fuse").Debug(strings.TrimSpace(string(p)))
	return len(p), nil
}
