package fs

import (
	"golang.org/x/sys/unix"
)

const (
	// minDescriptors is the least budget with which deep walks make progress.
	minDescriptors = 32
	// maxDefaultDescriptors bounds the derived budget: each held inode costs
	// about a kilobyte of kernel memory.
	maxDefaultDescriptors = 16384
)

// DescriptorBudget returns Options.MaxDescriptors for each of several trees that
// one process serves: an equal share of what a single tree gets by default.
func DescriptorBudget(trees int) int {
	return max(defaultDescriptors()/max(trees, 1), minDescriptors)
}

// defaultDescriptors leaves room for the runtime, pipes, the fuse device and
// whatever else the process serves.
func defaultDescriptors() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		limit.Cur = 1024
	}
	n := min(limit.Cur, 4*maxDefaultDescriptors)
	n -= max(n/8, 96)
	return int(max(min(n, maxDefaultDescriptors), minDescriptors))
}

// acquire returns an O_PATH descriptor of the node, opening it if needed. It
// stays open until the matching release.
func (t *Tree) acquire(n *node) (int, unix.Errno) {
	t.mu.Lock()
	if n.fd >= 0 {
		t.pinLocked(n)
		t.mu.Unlock()
		return n.fd, 0
	}
	t.mu.Unlock()
	if n.synthetic() {
		return -1, unix.EROFS
	}
	fd, e := t.reopen(n)
	if e == unix.EMFILE || e == unix.ENFILE {
		t.trim(t.unusedDescriptors() / 2)
		fd, e = t.reopen(n)
	}
	if e != 0 {
		return -1, e
	}
	fd = t.install(n, fd)
	t.trim(0)
	return fd, 0
}

// install gives a node a descriptor that was opened outside the lock, unless
// another handler was faster, and pins it.
func (t *Tree) install(n *node, fd int) int {
	t.mu.Lock()
	surplus := fd
	if n.fd < 0 {
		n.fd, surplus = fd, -1
		t.held++
	}
	t.pinLocked(n)
	fd = n.fd
	t.mu.Unlock()
	closeFD(surplus)
	return fd
}

func (t *Tree) pinLocked(n *node) {
	t.listOf(n).remove(n)
	n.pins++
	n.used = t.tick
}

// release ends a use begun by acquire.
func (t *Tree) release(n *node) {
	fd := -1
	t.mu.Lock()
	n.pins--
	n.used = t.tick
	if n.pins == 0 && !n.permanent && n.fd >= 0 {
		if n.lookups == 0 {
			fd = t.takeLocked(n)
		} else {
			t.listOf(n).pushFront(n)
		}
	}
	t.mu.Unlock()
	t.closeNode(n, fd)
}

// takeLocked removes the descriptor of an unpinned node for closing.
func (t *Tree) takeLocked(n *node) int {
	fd := n.fd
	if fd >= 0 {
		t.listOf(n).remove(n)
		n.fd = -1
		t.held--
	}
	return fd
}

// listOf separates directories, which many operations go through and which
// may be somebody's working directory, from the rest.
func (t *Tree) listOf(n *node) *list {
	if n.ident.kind == unix.S_IFDIR {
		return &t.dirs
	}
	return &t.files
}

func (t *Tree) unusedDescriptors() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.files.len + t.dirs.len
}

// trim closes unused descriptors until the budget holds, and at least count
// of them if there are so many.
func (t *Tree) trim(count int) {
	for tries := 0; ; tries++ {
		t.mu.Lock()
		over := t.held + int(t.handleFDs.Load()) - t.budget
		if count <= 0 && over <= 0 || tries > 2*t.budget {
			t.mu.Unlock()
			return
		}
		n := t.victimLocked()
		if n == nil {
			t.mu.Unlock()
			return
		}
		t.pinLocked(n)
		t.mu.Unlock()
		t.evict(n)
		count--
	}
}

// victimLocked picks the least recently used descriptor: a file's, or a
// directory's when these have taken most of the budget.
func (t *Tree) victimLocked() *node {
	if t.dirs.tail != nil && (t.files.tail == nil || t.dirs.len > t.budget*3/4) {
		return t.dirs.tail
	}
	return t.files.tail
}

// evict closes the descriptor of a node that only the caller has pinned, if
// there is a way to open it again: a name or, for one that has lost the name
// it was seen by but has others, a file handle.
func (t *Tree) evict(n *node) {
	handle := n.handle
	if handle == nil {
		handle = t.handleOf(n)
	}
	var st unix.Statx_t
	linked := statFD(n.fd, &st) == 0 && st.Nlink > 0
	fd := -1
	t.mu.Lock()
	n.handle = handle
	n.pins--
	switch {
	case n.pins > 0:
	case n.lookups == 0 || n.parent != nil || handle != nil && linked:
		fd, n.fd = n.fd, -1
		t.held--
		t.evictions++
	default:
		t.listOf(n).pushFront(n)
	}
	t.mu.Unlock()
	t.closeNode(n, fd)
}

// closeNode closes the descriptor of a node, which the node has no more, and
// what the kernel and the quota hold with it.
func (t *Tree) closeNode(n *node, fd int) {
	if fd < 0 {
		return
	}
	n.open.Lock()
	if n.kept {
		n.kept = false
		t.opts.Quota.Closed(n.ident.dev, n.ident.ino, fd)
	}
	t.dropContents(n)
	if n.opens == 0 { // else it was opened again meanwhile
		t.pass.unregister(n.backing)
		n.backing = 0
	}
	n.open.Unlock()
	unix.Close(fd)
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}
