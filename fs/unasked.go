package fs

import (
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// With [OpensUnasked] READ and READDIR come with a node and no handle. The
// node's descriptor leads to a file for reading, kept until that is closed: by
// a FORGET, the budget, or when it was not used for a while. A file that the
// host has deleted by then cannot be read on, as on a network filesystem.
//
// What keeps contents fresh is that the kernel asks for attributes again after
// [CacheTime], or when it is told (compare.go), and drops what it holds when
// size or time of change are others.
// Two things do not show in these, and are told by a notice (settle.go): a
// second change within one step of the host's clock, and one after which
// somebody sets the time back.

// contents is a descriptor for reading a node's file, and who uses it. The
// node's open guards it.
type contents struct {
	fd    int
	users int
	stale bool // the node has let go of it: the last user closes it
}

// readUnasked answers a READ of a node.
func (t *Tree) readUnasked(id, offset uint64, buf []byte) (int, unix.Errno) {
	n, e := t.node(id)
	if e != 0 {
		return 0, e
	}
	var done int
	e = t.withContents(n, func(fd int) (whole bool, e unix.Errno) {
		done, e = readFull(fd, buf, int64(offset))
		return offset == 0 && done < len(buf), e
	})
	t.settle(n)
	return done, e
}

// withContents calls use with a descriptor for reading a node's file. Where
// use reports that the whole file was read it is not kept: the kernel has it
// now and will not ask again.
func (t *Tree) withContents(n *node, use func(fd int) (whole bool, e unix.Errno)) unix.Errno {
	if n.ident.kind != unix.S_IFREG {
		return unix.EINVAL
	}
	path, e := t.acquire(n)
	if e != 0 {
		return e
	}
	defer t.release(n)
	n.open.Lock()
	c := n.contents
	if c != nil {
		c.users++
	}
	n.open.Unlock()
	if c == nil {
		fd, e := t.openReal(path, unix.O_RDONLY|unix.O_NONBLOCK)
		if e != 0 {
			return e
		}
		c = &contents{fd: fd, users: 1, stale: true}
		t.handleFDs.Add(1)
	}
	whole, e := use(c.fd)
	n.open.Lock()
	if c.stale && !whole && e == 0 && n.contents == nil {
		n.contents, c.stale = c, false
		t.keep(n, path)
	}
	c.users--
	t.closeContents(c)
	n.open.Unlock()
	t.trim(0)
	return e
}

// closeContents closes a descriptor that no node has and nobody uses. The
// caller holds the open of its node.
func (t *Tree) closeContents(c *contents) {
	if c.stale && c.users == 0 {
		t.handleFDs.Add(-1)
		unix.Close(c.fd)
	}
}

// dropContents takes the descriptor for reading from a node. The caller holds
// n.open.
func (t *Tree) dropContents(n *node) {
	if c := n.contents; c != nil {
		n.contents, c.stale = nil, true
		t.closeContents(c)
	}
}

// listings are directories that a client is reading and has not read to the
// end, or has given up: then others push them out, or time does. A directory
// is opened where there is none at the right position.
type listings struct {
	mu  sync.Mutex
	all []listing
}

type listing struct {
	*dir
	began time.Time
}

// maxListings bounds how many are kept.
const maxListings = 8

// take returns the directory of a node whose next entry is the one at a
// position, or a new one. None is used for longer than [CacheTime]: it holds
// names that the host may have taken away since.
func (l *listings) take(t *Tree, n *node, offset uint64) listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.all) - 1; i >= 0 && offset != 0; i-- {
		if d := l.all[i]; d.node == n && d.next == offset && time.Since(d.began) < CacheTime {
			l.all = append(l.all[:i], l.all[i+1:]...)
			return d
		}
	}
	return listing{&dir{node: n, fd: -1, whole: n.synthetic() || t.hasKids(n)}, time.Now()}
}

// keep puts a directory back.
func (l *listings) keep(t *Tree, d listing) {
	l.mu.Lock()
	l.all = append(l.all, d)
	var old listing
	if len(l.all) > maxListings {
		old = l.all[0]
		l.all = append(l.all[:0], l.all[1:]...)
	}
	l.mu.Unlock()
	if old.dir != nil {
		t.closeListing(old.dir)
	}
}

// closeAll closes those that began before a time.
func (l *listings) closeAll(t *Tree, before time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.all[:0]
	for _, d := range l.all {
		if d.began.Before(before) {
			t.closeListing(d.dir)
		} else {
			kept = append(kept, d)
		}
	}
	clear(l.all[len(kept):])
	l.all = kept
}

func (t *Tree) closeListing(d *dir) {
	if d.fd >= 0 {
		t.handleFDs.Add(-1)
		unix.Close(d.fd)
		d.fd = -1
	}
	d.free(t)
}

// listUnasked answers a READDIR or READDIRPLUS of a node.
func (r *raw) listUnasked(in *fuse.ReadIn, add func(*node, fuse.DirEntry) bool) unix.Errno {
	n, e := r.node(in.NodeId)
	if e == 0 && n.ident.kind != unix.S_IFDIR {
		e = unix.ENOTDIR
	}
	if e != 0 {
		return e
	}
	path := -1
	if !n.synthetic() {
		if path, e = r.acquire(n); e != 0 {
			return e
		}
		defer r.release(n)
		r.settle(n)
	}
	d := r.listings.take(r.Tree, n, in.Offset)
	if _, e := d.open(r.Tree, path); e != 0 {
		return e
	}
	added := false
	e = d.list(r.Tree, in.Offset, func(n *node, entry fuse.DirEntry) bool {
		ok := add(n, entry)
		added = added || ok
		return ok
	})
	if e != 0 || !added || d.whole { // the end
		r.closeListing(d.dir)
		return e
	}
	r.listings.keep(r.Tree, d)
	return 0
}
