package fs

import (
	"maps"
	"slices"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Quota counts what the charged regions hold and refuses what exceeds a limit.
// Each method that takes an act runs it, or answers EDQUOT without having run
// it; act changes the host's files as the method says and must not call the
// Quota again. dev and ino identify a file of the host, descriptors may be
// O_PATH. All methods are called concurrently.
type Quota interface {
	// Write runs an act that may make a file larger: end returns where it
	// would end, of a file of the given size. act must not write beyond most
	// and answers EDQUOT itself where nothing is left.
	Write(dev, ino uint64, fd int, end func(size int64) int64, act func(most int64) unix.Errno) unix.Errno
	// Resize runs an act after which a file has the size that to returns, of
	// the size that it has now.
	Resize(dev, ino uint64, fd int, to func(size int64) int64, act func() unix.Errno) unix.Errno
	// Make runs an act that makes a file of a kind (S_IFMT of mode) with a
	// name in dir; size is that of a symbolic link.
	Make(dir int, mode uint32, size int64, act func() unix.Errno) unix.Errno
	// Nameless runs an act that makes a file without a name and returns its
	// descriptor. It counts as opened.
	Nameless(act func() (fd int, e unix.Errno)) unix.Errno
	// Link runs an act that gives the file fd a name in dir.
	Link(fd, dir int, act func() unix.Errno) unix.Errno
	// Unname runs an act that takes a name away.
	Unname(dir int, name string, act func() unix.Errno) unix.Errno
	// Move runs an act that moves a name, in place of what has the new one.
	Move(from, to int, newName string, act func() unix.Errno) unix.Errno
	// Exchange runs an act that exchanges two names.
	Exchange(from, to int, act func() unix.Errno) unix.Errno
	// Opened says that the tree has opened a file; fd is any descriptor of it.
	Opened(dev, ino uint64, fd int)
	// Closed undoes one Opened: a file without a name counts until the last.
	Closed(dev, ino uint64, fd int)
	// Usage returns what is used and what the limits are, 0 for none.
	Usage() (bytes, files, maxBytes, maxFiles int64)
}

// charged reports whether the quota counts a node's domain.
func (n *node) charged() bool { return n.domain != nil && n.domain.charged }

// counted reports whether each write to a node must be asked for, so that it
// can have no passthrough.
func (n *node) counted() bool { return n.charged() && !n.domain.readOnly }

// chargeMake runs act, which makes a file of a kind in parent.
func (t *Tree) chargeMake(parent *node, dir int, mode uint32, size int, act func() unix.Errno) unix.Errno {
	if !parent.charged() {
		return act()
	}
	return t.opts.Quota.Make(dir, mode, int64(size), act)
}

// chargeResize runs act, after which a node has the size that to returns.
func (t *Tree) chargeResize(n *node, fd int, to func(size int64) int64, act func() unix.Errno) unix.Errno {
	if !n.charged() {
		return act()
	}
	return t.opts.Quota.Resize(n.ident.dev, n.ident.ino, fd, to, act)
}

// chargeWrite runs act, which writes length bytes at an offset, or at the end
// where that is negative. act is given how many of them it may write.
func (t *Tree) chargeWrite(n *node, fd int, offset int64, length int, act func(length int) unix.Errno) unix.Errno {
	if !n.charged() {
		return act(length)
	}
	at := offset
	end := func(size int64) int64 {
		if offset < 0 {
			at = size
		}
		return at + int64(length)
	}
	return t.opts.Quota.Write(n.ident.dev, n.ident.ino, fd, end, func(most int64) unix.Errno {
		room := min(int64(length), most-at)
		if room <= 0 && length > 0 {
			return unix.EDQUOT
		}
		return act(int(room))
	})
}

func (t *Tree) chargeLink(n *node, fd, dir int, act func() unix.Errno) unix.Errno {
	if !n.charged() {
		return act()
	}
	return t.opts.Quota.Link(fd, dir, act)
}

func (t *Tree) chargeUnname(parent *node, dir int, name string, act func() unix.Errno) unix.Errno {
	if !parent.charged() {
		return act()
	}
	return t.opts.Quota.Unname(dir, name, act)
}

func (t *Tree) chargeRename(parent *node, from, to int, newName string, flags uint32, act func() unix.Errno) unix.Errno {
	switch {
	case !parent.charged():
		return act()
	case flags&unix.RENAME_EXCHANGE != 0:
		return t.opts.Quota.Exchange(from, to, act)
	}
	return t.opts.Quota.Move(from, to, newName, act)
}

// keep says that the tree has a charged file open, or holds what has just lost
// its last name: its descriptor keeps the contents on the disk, as long as a
// client has it open or knows it some other way (O_PATH). The caller holds
// n.open.
func (t *Tree) keep(n *node, fd int) {
	if !n.kept && n.charged() && n.ident.kind == unix.S_IFREG {
		n.kept = true
		t.opts.Quota.Opened(n.ident.dev, n.ident.ino, fd)
	}
}

// unkeep ends it for a file that nobody has open, unless it has no name. The
// caller holds n.open.
func (t *Tree) unkeep(n *node, fd int) {
	var st unix.Statx_t
	if n.kept && n.opens == 0 && (statFD(fd, &st) != 0 || st.Nlink > 0) {
		n.kept = false
		t.opts.Quota.Closed(n.ident.dev, n.ident.ino, fd)
	}
}

// letGo closes the descriptor of a file whose last name was taken away behind
// the tree's back: the client's kernel does not know, and would go on holding
// what nobody can reach by a name.
func (t *Tree) letGo(n *node) {
	fd := -1
	t.mu.Lock()
	if n.pins == 0 && n.parent != nil {
		fd = t.takeLocked(n)
	}
	t.mu.Unlock()
	t.closeNode(n, fd)
}

// unkeepAll ends it for all nodes, when no handler is running.
func (t *Tree) unkeepAll() {
	t.mu.Lock()
	nodes := slices.Collect(maps.Values(t.nodes))
	t.mu.Unlock()
	for _, n := range nodes {
		n.open.Lock()
		if n.kept && n.fd >= 0 {
			n.kept = false
			t.opts.Quota.Closed(n.ident.dev, n.ident.ino, n.fd)
		}
		n.open.Unlock()
	}
}

// whileKept runs act, which may take the last name of a node away; nil: the
// kernel knows of none.
func (t *Tree) whileKept(n *node, act func() unix.Errno) unix.Errno {
	if n == nil || !n.charged() {
		return act()
	}
	n.open.Lock()
	defer n.open.Unlock()
	t.keep(n, n.fd)
	defer t.unkeep(n, n.fd)
	return act()
}

// statfsBlock is the unit in which a quota is shown.
const statfsBlock = 4096

// fillQuota answers statfs(2) with the limits as the size of the filesystem.
// What is free is never more than what the host's filesystem has.
func (t *Tree) fillQuota(st *unix.Statfs_t, out *fuse.StatfsOut) {
	bytes, files, maxBytes, maxFiles := t.opts.Quota.Usage()
	block := st.Frsize
	if block <= 0 {
		block = max(st.Bsize, 1)
	}
	scale := func(blocks uint64) uint64 { return blocks * uint64(block) / statfsBlock }
	*out = fuse.StatfsOut{
		Blocks: scale(st.Blocks), Bfree: scale(st.Bfree), Bavail: scale(st.Bavail), Files: st.Files, Ffree: st.Ffree,
		Bsize: statfsBlock, Frsize: statfsBlock, NameLen: uint32(st.Namelen),
	}
	if maxBytes > 0 {
		out.Blocks = uint64(maxBytes) / statfsBlock
		left := uint64(max(maxBytes-bytes, 0)) / statfsBlock
		out.Bfree, out.Bavail = min(out.Bfree, left), min(out.Bavail, left)
	}
	if maxFiles > 0 {
		out.Files = uint64(maxFiles)
		left := uint64(max(maxFiles-files, 0))
		if st.Files > 0 { // else the filesystem does not say
			left = min(left, out.Ffree)
		}
		out.Ffree = left
	}
}
