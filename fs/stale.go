package fs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The kernel believes a name for [CacheTime]. When the host has taken the
// name away meanwhile, or given it to another file, an operation on the node
// may have come about in two ways: by a path, and then it must reach what is
// there now, or what is written would go where nobody can find it; or by
// something that somebody holds, such as a working directory, a descriptor or
// a link of /proc/self/fd, and then it must go on working, as on any
// filesystem. The request does not say which.
//
// ESTALE tells them apart. On it the kernel starts the call again, once, and
// looks the whole path up anew (LOOKUP_REVAL, Linux Documentation/
// filesystems/path-lookup.rst). So a thread is refused the first time. If it
// then asks for the same node again, it holds it and is let through; a path
// has led it elsewhere meanwhile.
//
// A thread's refusal lasts until its next operation, so that it does not
// matter how long the kernel takes for its second attempt: on a loaded machine
// a client may not run for seconds. What else may be let through, because a
// path has led to it since, must be recent: it is then never older than what
// the kernel may use anyway without asking.

const (
	// staleRetry is how recent. It is within [CacheTime].
	staleRetry = CacheTime / 2
	// maxRefusal is when a refusal ends at the latest: the second attempt may
	// have ended before it came to an operation, or the thread with it.
	maxRefusal = time.Minute
	// maxRefusals bounds how many are remembered; the oldest goes first.
	maxRefusals = 256
	// maxAncestors bounds how far up names are asked for.
	maxAncestors = 64
)

// unknownThread is the number that the kernel gives to all threads that have
// none in the pid namespace in which the tree was mounted.
const unknownThread = 0

// refusedTo tells refusals apart: by the thread or, among threads that cannot
// be told apart, by the number of the node.
type refusedTo struct {
	thread uint32
	node   uint64
}

// refusal is an answer of ESTALE to a thread, until its next operation. For
// threads that cannot be told apart it is of one node, and lasts: ending it
// would let one thread take away another's second attempt.
type refusal struct {
	at   time.Time
	lost []*node // what had lost its name
}

// lets reports whether a node that has lost its name may be used after all.
func (r refusal) lets(n *node) bool {
	if age := time.Since(r.at); n.seen.Before(r.at) {
		return age < maxRefusal && slices.Contains(r.lost, n)
	} else {
		return age < staleRetry
	}
}

// intent is what an operation does to its nodes.
type intent int

const (
	reads intent = iota
	writes
	// binds is a write by bind(2), which the kernel does not start again: it
	// is never refused, and may go where the path led before.
	binds
)

// use acquires a node for an operation of a thread, or answers ESTALE if a
// path may have led to it, or to another node of the operation, that leads
// elsewhere now.
func (t *Tree) use(thread uint32, n *node, what intent, also ...*node) (int, unix.Errno) {
	fd, e := t.acquireFor(thread, n, also...)
	if e != 0 {
		return -1, e
	}
	if e := t.check(thread, what, append(also, n)...); e != 0 {
		t.release(n)
		return -1, e
	}
	return fd, 0
}

// acquireFor is [Tree.acquire] for an operation of a thread on a node and on
// others. Where the node cannot be found any more, the thread is refused all
// that its second attempt could be refused.
func (t *Tree) acquireFor(thread uint32, n *node, also ...*node) (int, unix.Errno) {
	fd, e := t.acquire(n)
	if e != unix.ESTALE {
		return fd, e
	}
	lost := []*node{n}
	for _, n := range append(also, n) {
		above, _ := t.outdated(n)
		lost = append(lost, above...)
	}
	t.refuse(thread, lost...)
	return -1, e
}

// check decides about all nodes of one operation at once, since the kernel
// starts again once only.
func (t *Tree) check(thread uint32, what intent, nodes ...*node) unix.Errno {
	var lost []*node
	for _, n := range nodes {
		x, e := t.outdated(n)
		if e != 0 {
			return e
		}
		lost = append(lost, x...)
	}
	if !t.mayUse(thread, lost) && what != binds {
		t.refuse(thread, lost...)
		return unix.ESTALE
	}
	if what != reads {
		for _, n := range lost {
			if e := t.movedError(n); e != 0 {
				return e
			}
		}
	}
	return 0
}

// outdated returns which of the node itself and the directories above it have
// a last known name that leads elsewhere now: all of them, since what is at the
// end of a path may be replaced and, besides, the directory from where the
// path was walked. A node without parent has lost its name through the tree, or
// never had one, and is held by somebody. Directories further up whose
// descriptors are closed are left out: opening them for this would be dear in
// a deep tree.
func (t *Tree) outdated(n *node) (lost []*node, e unix.Errno) {
	if n.permanent {
		return nil, 0
	}
	began, sure := t.watcher.undisturbed(n)
	if sure {
		return nil, 0
	}
	lost, whole, e := t.askNames(n)
	if whole && e == 0 && len(lost) == 0 {
		t.watcher.settled(n, began)
	}
	return lost, e
}

// askNames is outdated where the host has to be asked. whole reports whether
// none was left out.
func (t *Tree) askNames(n *node) (lost []*node, whole bool, e unix.Errno) {
	for level := range maxAncestors {
		t.mu.Lock()
		at := place{n.parent, n.name}
		held := at.parent != nil && at.parent.fd >= 0
		t.mu.Unlock()
		if n.permanent || at.parent == nil || level > 0 && !held {
			return lost, n.permanent, 0
		}
		dir, e := t.acquire(at.parent)
		switch {
		case e == unix.ESTALE:
			return append(lost, at.parent), false, 0
		case e != 0:
			return nil, false, e
		}
		var st unix.Statx_t
		e = statName(dir, at.name, &st)
		t.release(at.parent)
		gone := e == unix.ENOENT || e == unix.ENOTDIR || e == 0 && identityOf(&st) != n.ident
		switch {
		case !gone:
			n = at.parent
		case t.isAt(n, at):
			lost = append(lost, n)
			n = at.parent
		}
	}
	return lost, false, 0
}

// place is a name in a directory.
type place struct {
	parent *node
	name   string
}

// isAt reports whether a node is still recorded at a place: a rename through
// the tree may have come in between.
func (t *Tree) isAt(n *node, at place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return place{n.parent, n.name} == at
}

// refuse records that a thread is about to be answered ESTALE.
func (t *Tree) refuse(thread uint32, lost ...*node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if thread != unknownThread {
		t.refuseLocked(refusedTo{thread: thread}, refusal{now, lost})
		return
	}
	for _, n := range lost {
		t.refuseLocked(refusedTo{node: n.id}, refusal{now, []*node{n}})
	}
}

func (t *Tree) refuseLocked(to refusedTo, r refusal) {
	if _, ok := t.refusals[to]; !ok && len(t.refusals) >= maxRefusals {
		var oldest refusedTo
		first := r.at
		for to, r := range t.refusals {
			if !r.at.After(first) {
				oldest, first = to, r.at
			}
		}
		delete(t.refusals, oldest)
	}
	t.refusals[to] = r
}

// mayUse reports whether a thread may use nodes whose names are lost: it was
// refused before and holds them, or they have been looked up since. The latter
// is so when the host replaces a name all the time; a plain directory would
// have opened one version or another, too. It ends the refusal.
func (t *Tree) mayUse(thread uint32, lost []*node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := refusedTo{thread: thread}
	defer delete(t.refusals, to)
	for _, n := range lost {
		if thread == unknownThread {
			to.node = n.id
		}
		if !t.refusals[to].lets(n) {
			return false
		}
	}
	return true
}

// startsAgain reports whether a thread's lookup may be part of a call's
// second attempt. What it finds needs a descriptor at once, since its name
// may be gone again before it is used.
func (t *Tree) startsAgain(thread uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if thread == unknownThread {
		for to := range t.refusals {
			if to.thread == unknownThread {
				return true
			}
		}
		return false
	}
	_, ok := t.refusals[refusedTo{thread: thread}]
	return ok
}

// movedError is what a write in a held directory that has lost its name
// answers, by where the host has put it: 0 if writes are allowed there.
func (t *Tree) movedError(n *node) unix.Errno {
	if n.ident.kind != unix.S_IFDIR {
		return t.movedFileError(n)
	}
	first, e := t.acquire(n)
	if e != 0 {
		return e
	}
	defer t.release(n)
	dir := first
	defer func() {
		if dir != first {
			unix.Close(dir)
		}
	}()
	var below identity
	for {
		var st unix.Statx_t
		if e := statFD(dir, &st); e != 0 {
			return e
		}
		at := identityOf(&st)
		if slices.Contains(n.domain.roots, at) {
			return 0
		}
		for _, root := range t.roots {
			if root.ident == at {
				return root.writeError()
			}
		}
		if st.Nlink == 0 {
			return 0 // removed: the host says what is possible there
		}
		if at == below {
			return unix.ESTALE // outside of every region
		}
		up, e := openAt(dir, "..", unix.O_PATH|unix.O_DIRECTORY, 0)
		if e != 0 {
			return e
		}
		if dir != first {
			unix.Close(dir)
		}
		dir, below = up, at
	}
}

// useForAttributes is [Tree.use] for SETATTR. fchmod and futimens come
// without a handle and are not started again, so a node that somebody has
// open is not refused for its name; but where it is now may be read-only. A
// size without a handle is truncate(2)'s, by a path.
func (t *Tree) useForAttributes(n *node, in *fuse.SetAttrIn) (int, unix.Errno) {
	n.open.Lock()
	opens := n.opens + n.openDirs
	n.open.Unlock()
	_, byHandle := in.GetFh()
	if !byHandle && (opens == 0 || in.Valid&fuse.FATTR_SIZE != 0) {
		return t.use(in.Pid, n, writes)
	}
	fd, e := t.acquire(n)
	if e != 0 || byHandle {
		return fd, e
	}
	lost, e := t.outdated(n)
	for _, l := range lost {
		if e == 0 {
			e = t.movedError(l)
		}
	}
	if e == unix.EROFS {
		t.release(n)
		return -1, e
	}
	return fd, 0
}

// movedFileError is [Tree.movedError] for what is no directory. Where it is
// only its name on the host can tell; a file that somebody holds goes on working
// outside of every region.
func (t *Tree) movedFileError(n *node) unix.Errno {
	fd, e := t.acquire(n)
	if e != 0 {
		return e
	}
	defer t.release(n)
	at, e := t.hostName(fd)
	if e != 0 {
		return 0
	}
	longest, found := 0, unix.Errno(0)
	for _, root := range t.roots {
		place, e := t.hostName(root.fd)
		if e == 0 && len(place) > longest && strings.HasPrefix(at, place+"/") {
			longest, found = len(place), root.writeError()
		}
	}
	return found
}

// hostName is where the host has the file of a descriptor, for comparing.
func (t *Tree) hostName(fd int) (string, unix.Errno) {
	buf := make([]byte, unix.PathMax)
	n := 0
	e := retry(func() (err error) {
		n, err = unix.Readlinkat(t.procFD, strconv.Itoa(fd), buf)
		return err
	})
	return string(buf[:max(n, 0)]), e
}
