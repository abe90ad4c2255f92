package fs

import (
	"slices"

	"golang.org/x/sys/unix"
)

// reopen opens a node whose descriptor was closed: by its file handle where
// that is permitted, else by the name under which it was seen last. What is
// found must be the same inode, else the answer is ESTALE, which makes the
// client's kernel look its path up again.
func (t *Tree) reopen(n *node) (int, unix.Errno) {
	t.mu.Lock()
	handle := n.handle
	t.mu.Unlock()
	if handle != nil {
		return t.openHandle(n, handle)
	}
	base, chain, e := t.chain(n)
	if e != 0 {
		return -1, e
	}
	defer t.release(base.node)
	dir := base.fd
	for i, step := range chain {
		fd, e := openAt(dir, step.name, pathFlags, 0)
		if i > 0 {
			unix.Close(dir)
		}
		if e == unix.ENOENT || e == unix.ENOTDIR {
			e = unix.ESTALE
		}
		if e != 0 {
			return -1, e
		}
		var st unix.Statx_t
		if e := statFD(fd, &st); e != 0 || identityOf(&st) != step.node.ident {
			unix.Close(fd)
			return -1, unix.ESTALE
		}
		dir = fd
	}
	return dir, 0
}

type held struct {
	node *node
	fd   int
}

type step struct {
	node *node
	name string
}

// chain finds the nearest ancestor with an open descriptor, which it pins,
// and the names that lead from there to n. It is a loop and holds one
// descriptor only, because a tree may be deeper than the budget.
func (t *Tree) chain(n *node) (held, []step, unix.Errno) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var steps []step
	for n.fd < 0 {
		if n.parent == nil || len(steps) > len(t.nodes)+1 {
			return held{}, nil, unix.ESTALE
		}
		steps = append(steps, step{n, n.name})
		n = n.parent
	}
	t.pinLocked(n)
	slices.Reverse(steps)
	return held{n, n.fd}, steps, 0
}

// handleOf asks the host for a handle of a node's inode, for the time after
// its descriptor is closed. It returns nil where handles cannot be opened.
func (t *Tree) handleOf(n *node) *unix.FileHandle {
	if _, ok := t.handleRoots[n.ident.dev]; !ok {
		return nil
	}
	h, _, err := unix.NameToHandleAt(n.fd, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return nil
	}
	return &h
}

func (t *Tree) openHandle(n *node, h *unix.FileHandle) (int, unix.Errno) {
	var fd int
	e := retry(func() (err error) {
		fd, err = unix.OpenByHandleAt(t.handleRoots[n.ident.dev], *h, pathFlags)
		return err
	})
	return fd, e
}

// probeHandles reports whether this process may open handles on the
// filesystem of dir, an ordinary (not O_PATH) descriptor.
func probeHandles(dir int) bool {
	h, _, err := unix.NameToHandleAt(dir, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return false
	}
	fd, err := unix.OpenByHandleAt(dir, h, pathFlags)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}
