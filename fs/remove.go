package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Unlink answers unlink(2).
func (r *raw) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return fuse.Status(r.remove(in, name, 0))
}

// Rmdir answers rmdir(2).
func (r *raw) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return fuse.Status(r.remove(in, name, unix.AT_REMOVEDIR))
}

func (t *Tree) remove(in *fuse.InHeader, name string, flags int) unix.Errno {
	parent, e := t.node(in.NodeId)
	if e == 0 {
		e = t.changeName(parent, name)
	}
	if e != 0 {
		return e
	}
	dir, e := t.use(in.Pid, parent, writes)
	if e != 0 {
		return e
	}
	defer t.release(parent)
	victim := t.hold(parent, dir, name)
	e = t.whileKept(victim, func() unix.Errno {
		return t.chargeUnname(parent, dir, name, func() unix.Errno {
			return retry(func() error { return unix.Unlinkat(dir, name, flags) })
		})
	})
	if e == 0 {
		t.watcher.removed(parent, name)
	}
	t.drop(victim, parent, name, e == 0)
	return e
}

// changeName checks that a name that exists may be taken away or replaced.
func (t *Tree) changeName(parent *node, name string) unix.Errno {
	if e := checkName(name); e != 0 {
		return e
	}
	if e := parent.writeError(); e != 0 {
		return e
	}
	if t.kid(parent, name) != nil {
		return unix.EBUSY // a region, or the way to one
	}
	return 0
}

// hold opens the descriptor of the node at a name that is about to go away,
// if the kernel knows it, because afterwards there is no name to open it by.
func (t *Tree) hold(parent *node, dir int, name string) *node {
	var st unix.Statx_t
	if statName(dir, name, &st) != 0 {
		return nil
	}
	t.mu.Lock()
	n := t.findLocked(parent.domain, &st)
	if n == nil {
		t.mu.Unlock()
		return nil
	}
	if n.fd >= 0 {
		t.pinLocked(n)
		t.mu.Unlock()
		return n
	}
	t.mu.Unlock()
	fd, e := openAt(dir, name, pathFlags, 0)
	if e != 0 {
		return nil
	}
	if statFD(fd, &st) != 0 || identityOf(&st) != n.ident {
		unix.Close(fd)
		return nil
	}
	t.install(n, fd)
	return n
}

// drop ends a hold of the node at a name. If the name is gone and the node
// could be reopened only by it, the node keeps its descriptor until the
// kernel forgets it or it is seen again.
func (t *Tree) drop(n, parent *node, name string, gone bool) {
	if n == nil {
		return
	}
	if gone {
		t.mu.Lock()
		if n.parent == parent && n.name == name {
			t.placeLocked(n, nil, "")
		}
		t.mu.Unlock()
	}
	t.release(n)
	t.trim(0)
}
