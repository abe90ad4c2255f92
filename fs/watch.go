package fs

import (
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watcher sees what the host changes below the directories of which the
// client's kernel may keep names and attributes for [LeaseTime], and tells
// the kernel to drop what is not right any more.
//
// It watches each such directory by inotify, from before what is said of it is
// read. The host's kernel queues an event before the call that made it
// returns; the queue is read some times a second, so that many events are one
// comparison. What has changed is read again and compared with what was said:
// the tree's own changes make events, too, and they are no news to the
// client's kernel, which a comparison shows without a word to it.
//
// Nothing is ever taken back: a watch stays until the last time that was given
// by it is over. So a tree that nobody uses any more ends its watches, and
// gives back its inotify instance, of which a user has few, by itself.
type watcher struct {
	t      *Tree
	limits watchLimits
	// say queues a notice, waiting for room; false: the connection is over.
	say func(notice) bool
	// inFlight returns a function that tells whether the requests that are at
	// work now have been answered.
	inFlight func() func() bool
	wake     chan struct{} // an instance was opened
	stop     chan struct{}
	ended    chan struct{}

	// mu is taken before Tree.mu, never after. Nothing waits under it.
	mu      sync.Mutex
	serving bool
	fd      int // the inotify instance, -1 without one
	byWD    map[int32][]*watch
	watches int
	names   int
	full    bool      // until enough names are gone
	rest    time.Time // nothing is asked of inotify before
	now     time.Time // of the last tick
	round   uint64    // times that the queue was read
	serial  uint64    // orders watches and leases
	// disturbed counts what could make a name wrong: an event, or that events
	// of a directory begin or end.
	disturbed uint64
	local     map[uint64]bool
	lost      int  // times that everything had to be dropped
	calm      bool // everything has been said twice
	due       map[spot]uint32
	dirsDue   map[*watch]struct{}
	queued    []notice // of handlers
	buf       []byte
}

// watchLimits bound what a tree may watch and remember.
type watchLimits struct {
	watches int // each costs one to two kilobytes of the host's kernel: its inode stays
	names   int // each costs about 50 bytes here
	lease   time.Duration
	slack   time.Duration // how much later than its end a lease is taken for valid
	// open makes the instance.
	open func() (int, error)
}

func defaultWatchLimits() watchLimits {
	return watchLimits{watches: 8192, names: 1 << 17, lease: LeaseTime, slack: watchSlack, open: openInstance}
}

// spareInstances are left to the user's other programs, such as those in the
// sandbox: a tree works without one, if slower, and they do not.
const spareInstances = 16

// openInstance makes an instance, if as many as are to be spared could be
// made, too.
func openInstance() (int, error) {
	const flags = unix.IN_NONBLOCK | unix.IN_CLOEXEC
	fd, err := unix.InotifyInit1(flags)
	for range spareInstances {
		if err != nil {
			break
		}
		var spare int
		if spare, err = unix.InotifyInit1(flags); err == nil {
			defer unix.Close(spare)
		}
	}
	if err != nil && fd >= 0 {
		unix.Close(fd)
	}
	return fd, err
}

// watch is one directory that is watched, guarded by watcher.mu.
type watch struct {
	node   *node
	wd     int32
	serial uint64
	until  time.Time // the last lease is over
	gone   bool
	// names are those that the kernel may keep: what each leads to, nil for
	// one that is absent.
	names map[string]*node
}

// spot is a name in a watched directory.
type spot struct {
	w    *watch
	name string
}

const (
	// watchTick is how often events are looked for, busyTick when they are many:
	// the host keeps 16384 of them.
	watchTick = 200 * time.Millisecond
	busyTick  = 10 * time.Millisecond
	manyBytes = 64 << 10
	// watchSlack is how much later than the reply is made a client may begin
	// to count the time that it was given.
	watchSlack = 10 * time.Second
	// watchRest is for how long nothing is watched after what could not be had.
	watchRest = 5 * time.Second
)

const watchMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

const (
	namesMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	// disturbingMask is what can make a name wrong that led somewhere. A new
	// name cannot: it was absent before.
	disturbingMask = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_Q_OVERFLOW | unix.IN_IGNORED | unix.IN_UNMOUNT

	contentsMask = unix.IN_MODIFY | unix.IN_CLOSE_WRITE
)

func newWatcher(t *Tree) *watcher {
	return &watcher{
		t: t, limits: defaultWatchLimits(), fd: -1, byWD: map[int32][]*watch{}, local: map[uint64]bool{},
		due: map[spot]uint32{}, dirsDue: map[*watch]struct{}{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
}

// serve begins to give leases.
func (h *watcher) serve(say func(notice) bool, inFlight func() func() bool) {
	h.say, h.inFlight = say, inFlight
	h.mu.Lock()
	h.serving, h.now = true, time.Now()
	h.mu.Unlock()
	go h.run()
}

// close ends the goroutine and the instance. No handler may be running.
func (h *watcher) close() {
	h.mu.Lock()
	serving := h.serving
	h.serving = false
	h.mu.Unlock()
	if serving {
		close(h.stop)
		<-h.ended
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeInstance()
}

// run looks for events while there is an instance.
func (h *watcher) run() {
	defer close(h.ended)
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	var again repeats
	for {
		select {
		case <-h.stop:
			return
		case <-h.wake:
		case <-tick.C:
		}
		next := h.turn(&again)
		if next > 0 {
			tick.Reset(next)
		}
	}
}

// turn does what is due and says when to come again, 0 for not before an
// instance is opened.
func (h *watcher) turn(again *repeats) time.Duration {
	h.mu.Lock()
	h.now = time.Now()
	again.now = h.now
	size, lost := h.drain()
	h.round++
	queued := h.queued
	h.queued = nil
	h.mu.Unlock()
	again.send(h)
	again.say(h, queued...)
	if lost {
		h.dropAll(again)
	} else {
		h.compare(again)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire()
	h.calm = again.empty()
	switch {
	case h.fd < 0 && h.calm:
		return 0
	case size >= manyBytes:
		return busyTick
	}
	return watchTick
}

// cover watches a directory for as long as a lease that is given now is valid.
// fd is the node's descriptor, which the caller has acquired. The caller holds
// mu. added says that there was no watch before: what was read of the
// directory until now is not covered.
func (h *watcher) cover(n *node, fd int) (w *watch, added bool) {
	if !h.serving || h.full {
		return nil, false
	}
	if n.watch == nil {
		if n.watch = h.add(n, fd); n.watch == nil {
			return nil, false
		}
		added = true
	}
	n.watch.until = h.end()
	return n.watch, added
}

// end is when the last lease that is given now is surely over.
func (h *watcher) end() time.Time { return h.now.Add(h.limits.lease + h.limits.slack) }

func (h *watcher) add(n *node, fd int) *watch {
	if h.watches >= h.limits.watches || n.watchless || !h.isLocal(n.ident.dev, fd) || h.resting() || !h.open() {
		return nil
	}
	wd, err := unix.InotifyAddWatch(h.fd, procPath(fd), watchMask)
	switch e := errno(err); e {
	case 0:
	case unix.ENOSPC, unix.ENOMEM: // the user's watches are used up
		h.rest = time.Now().Add(watchRest)
		return nil
	default: // it may not be read, for example
		n.watchless = true
		return nil
	}
	h.serial++
	w := &watch{node: n, wd: int32(wd), serial: h.serial, names: map[string]*node{}}
	h.byWD[w.wd] = append(h.byWD[w.wd], w)
	h.watches++
	h.disturbed++
	return w
}

func (h *watcher) resting() bool { return !h.rest.IsZero() && time.Now().Before(h.rest) }

// open makes sure that there is an instance.
func (h *watcher) open() bool {
	if h.fd >= 0 {
		return true
	}
	fd, err := h.limits.open()
	if err != nil {
		h.rest = time.Now().Add(watchRest)
		return false
	}
	h.fd, h.now = fd, time.Now()
	h.look()
	return true
}

// look wakes the goroutine.
func (h *watcher) look() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// later has a notice said by the goroutine.
func (h *watcher) later(n notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.serving {
		h.queued = append(h.queued, n)
		h.look()
	}
}

// isLocal reports whether every change on a filesystem is made by this
// machine's kernel, and so makes an event.
func (h *watcher) isLocal(dev uint64, fd int) bool {
	known, ok := h.local[dev]
	if ok {
		return known
	}
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type & math.MaxUint32) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		known = true
	}
	h.local[dev] = known
	return known
}

// remove ends a watch of which no lease is valid any more, or whose leases
// have been taken back. The caller holds mu.
func (h *watcher) remove(w *watch) {
	if w.gone {
		return
	}
	w.gone = true
	h.disturbed++
	h.watches--
	h.names -= len(w.names)
	w.names = nil
	if w.node.watch == w {
		w.node.watch = nil
	}
	others := h.byWD[w.wd][:0]
	for _, o := range h.byWD[w.wd] {
		if o != w {
			others = append(others, o)
		}
	}
	if len(others) > 0 {
		h.byWD[w.wd] = others
		return
	}
	delete(h.byWD, w.wd)
	if h.fd >= 0 {
		unix.InotifyRmWatch(h.fd, uint32(w.wd))
	}
}

// expire ends the watches whose time is over, and the instance with the last.
// The caller holds mu.
func (h *watcher) expire() {
	for _, ws := range h.byWD {
		for _, w := range append([]*watch(nil), ws...) {
			if w.until.Before(h.now) {
				h.remove(w)
			}
		}
	}
	if h.full && h.names <= h.limits.names/2 {
		h.full = false
	}
	if h.watches == 0 {
		h.closeInstance()
	}
}

// closeInstance ends it with all its watches. The caller holds mu.
func (h *watcher) closeInstance() {
	if h.fd < 0 {
		return
	}
	unix.Close(h.fd)
	h.fd = -1
	h.disturbed++
	for _, ws := range h.byWD {
		for _, w := range append([]*watch(nil), ws...) {
			h.remove(w)
		}
	}
	h.round++
}

// forgotten ends what is remembered of a node that the kernel does not know
// any more. Its watch goes with the next look at the time.
func (h *watcher) forgotten(n *node, at place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.parent != nil {
		if w := at.parent.watch; w != nil && w.names[at.name] == n {
			h.unname(w, at.name)
		}
	}
	if w := n.watch; w != nil {
		w.until = time.Time{}
		n.watch = nil
	}
}

// unname takes a name from those that the kernel may keep. The caller holds
// mu.
func (h *watcher) unname(w *watch, name string) {
	if _, ok := w.names[name]; ok {
		delete(w.names, name)
		h.names--
	}
}

func (h *watcher) stats(out *Stats) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out.Watches, out.Leases, out.Overflows = h.watches, h.names, h.lost
	if h.fd >= 0 {
		out.Instances = 1
	}
}
