package fs

import (
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// dir is an open directory. Most are streams, whose positions are those of
// the host's directory; a directory to which the table adds names is read
// whole at its beginning, and its positions are indexes.
type dir struct {
	node *node

	mu   sync.Mutex
	fd   int                 // -1 for a synthetic directory, and until one is needed
	all  *[direntBuffer]byte // nil while nothing is being read
	buf  []byte              // what was read of it and not yet passed on: buf[pos:]
	pos  int
	next uint64 // position of the next entry
	// entries is the whole directory where whole is set.
	whole   bool
	entries []fuse.DirEntry
}

const direntBuffer = 32 << 10

// OpenDir answers opendir(3). The client's kernel may keep the names it has
// read, and then asks for nothing else; it drops them when it changes the
// directory itself, and when this answer does not say that they are right.
func (r *raw) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if r.unasked() {
		return declineOpen(0)
	}
	n, e := r.node(in.NodeId)
	if e != 0 {
		return fuse.Status(e)
	}
	d := &dir{node: n, fd: -1, whole: n.synthetic() || r.hasKids(n)}
	flags := uint32(fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE)
	if !n.synthetic() {
		path, e := r.use(in.Pid, n, reads)
		if e != 0 {
			return fuse.Status(e)
		}
		r.watcher.leaseNames(n, path)
		if flags = r.keepNames(n, path); flags&fuse.FOPEN_KEEP_CACHE == 0 {
			if _, e := d.open(r.Tree, path); e != 0 {
				r.release(n)
				return fuse.Status(e)
			}
		}
		n.open.Lock()
		n.openDirs++
		n.open.Unlock()
	}
	*out = fuse.OpenOut{Fh: r.handles.addDir(d), OpenFlags: flags}
	r.trim(0)
	return fuse.OK
}

// keepNames says what the client's kernel may do with the names of a
// directory: go on using those it may hold, and keep those it will read. The
// former not after the time for which it holds their attributes:
// reading both anew is cheaper than asking for each. The latter not
// while the directory is changing, since the kernel goes by the time of its
// last change, which may stay the same.
func (t *Tree) keepNames(n *node, fd int) (flags uint32) {
	kept := CacheTime
	if t.watcher.watching(n) {
		kept = LeaseTime
	}
	n.open.Lock()
	defer n.open.Unlock()
	now := time.Now()
	if t.sameContents(n, fd) && now.Sub(n.listed) < kept*3/4 {
		return fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
	}
	n.listed = now
	if n.fresh == (version{}) {
		return 0
	}
	return fuse.FOPEN_CACHE_DIR
}

// open gives an open directory its descriptor. path is the node's own, which
// the open directory has acquired. The caller holds d.mu, or has d alone.
func (d *dir) open(t *Tree, path int) (int, unix.Errno) {
	if d.fd >= 0 || d.node.synthetic() {
		return d.fd, 0
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY
	fd, e := openAt(path, ".", flags, 0)
	if e == unix.EMFILE || e == unix.ENFILE {
		t.trim(t.unusedDescriptors() / 2)
		fd, e = openAt(path, ".", flags, 0)
	}
	if e != 0 {
		return -1, e
	}
	d.fd = fd
	t.handleFDs.Add(1)
	return fd, 0
}

func (t *Tree) hasKids(n *node) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.layout != nil && len(n.layout.kids) > 0
}

// ReleaseDir ends an open directory.
func (r *raw) ReleaseDir(in *fuse.ReleaseIn) {
	if d := r.handles.takeDir(in.Fh); d != nil {
		r.closeDir(d)
	}
}

func (t *Tree) closeDir(d *dir) {
	d.mu.Lock()
	if d.fd >= 0 {
		t.handleFDs.Add(-1)
		unix.Close(d.fd)
		d.fd = -1
	}
	d.free(t)
	d.mu.Unlock()
	if n := d.node; !n.synthetic() {
		n.open.Lock()
		n.openDirs--
		n.open.Unlock()
		t.release(n)
	}
}

// FsyncDir answers fsync(2) of a directory.
func (r *raw) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if r.unasked() {
		return fuse.OK // there is nothing that we have changed
	}
	d := r.handles.dir(in.Fh)
	if d == nil {
		return fuse.EBADF
	}
	d.mu.Lock()
	fd, e := d.open(r.Tree, d.node.fd)
	d.mu.Unlock()
	if e != 0 || fd < 0 {
		return fuse.Status(e)
	}
	return fuse.Status(syncFD(fd, in.FsyncFlags))
}

// ReadDir lists names.
func (r *raw) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return r.list(in, func(_ *node, e fuse.DirEntry) bool { return out.AddDirEntry(e) })
}

// ReadDirPlus lists names and introduces them to the kernel as a lookup does,
// or some of them (curiosity.go).
func (r *raw) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	everything := r.interest.lasts()
	return r.list(in, func(n *node, e fuse.DirEntry) bool {
		entry := out.AddDirLookupEntry(e)
		if entry == nil {
			return false
		}
		if e.Name == "." || e.Name == ".." || !r.introduces(n, &e, everything) {
			return true
		}
		if r.lookup(in.Pid, n, e.Name, entry) != 0 {
			*entry = fuse.EntryOut{} // it is gone: a bare name
			return true
		}
		out.FixMode(entry.Mode)
		return true
	})
}

// list passes entries from a position on to add, until it has no more room.
func (r *raw) list(in *fuse.ReadIn, add func(*node, fuse.DirEntry) bool) fuse.Status {
	if r.unasked() {
		return fuse.Status(r.listUnasked(in, add))
	}
	d := r.handles.dir(in.Fh)
	if d == nil {
		return fuse.EBADF
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, e := d.open(r.Tree, d.node.fd); e != 0 {
		return fuse.Status(e)
	}
	return fuse.Status(d.list(r.Tree, in.Offset, add))
}

// list does it. The caller holds d.mu, or has d alone, and has opened it.
func (d *dir) list(t *Tree, offset uint64, add func(*node, fuse.DirEntry) bool) unix.Errno {
	if d.whole {
		return d.listWhole(t, offset, add)
	}
	return d.listStream(t, offset, add)
}

func (d *dir) listStream(t *Tree, offset uint64, add func(*node, fuse.DirEntry) bool) unix.Errno {
	if offset == 0 || offset != d.next {
		if e := d.seek(offset); e != 0 {
			return e
		}
	}
	for {
		var entry fuse.DirEntry
		size, e := d.peek(t, &entry)
		if size == 0 || e != 0 {
			return e
		}
		entry.Ino = t.shownInode(d.node.ident.dev, entry.Ino)
		if !add(d.node, entry) {
			return 0
		}
		d.pos += size
		d.next = entry.Off
	}
}

// peek parses the next entry, reading more when needed; size 0 is the end.
func (d *dir) peek(t *Tree, entry *fuse.DirEntry) (size int, e unix.Errno) {
	if d.pos == len(d.buf) {
		if d.all == nil {
			d.all = t.direntBuffer()
		}
		var n int
		e := retry(func() (err error) {
			n, err = unix.Getdents(d.fd, d.all[:])
			return err
		})
		if e != 0 || n <= 0 {
			d.free(t)
			return 0, e
		}
		d.buf, d.pos = d.all[:n], 0
	}
	return entry.Parse(d.buf[d.pos:]), 0
}

// direntBuffer returns a buffer, one that was used before where there is one:
// most are needed for two requests, and a walk would keep the collector busy.
func (t *Tree) direntBuffer() *[direntBuffer]byte {
	if b, ok := t.dirents.Get().(*[direntBuffer]byte); ok {
		return b
	}
	return new([direntBuffer]byte)
}

// free gives the buffer back, when nothing in it is to be passed on.
func (d *dir) free(t *Tree) {
	d.buf, d.pos = nil, 0
	if d.all != nil {
		t.dirents.Put(d.all)
		d.all = nil
	}
}

func (d *dir) seek(offset uint64) unix.Errno {
	d.buf, d.pos, d.next = nil, 0, offset
	return retry(func() error {
		_, err := unix.Seek(d.fd, int64(offset), 0)
		return err
	})
}

func (d *dir) listWhole(t *Tree, offset uint64, add func(*node, fuse.DirEntry) bool) unix.Errno {
	if offset == 0 || d.entries == nil {
		if e := d.readWhole(t); e != 0 {
			return e
		}
	}
	for i := offset; i < uint64(len(d.entries)); i++ {
		entry := d.entries[i]
		entry.Off = i + 1
		if !add(d.node, entry) {
			return 0
		}
	}
	return 0
}

// readWhole reads the host's names, if there is a host directory, and puts
// the table's over them.
func (d *dir) readWhole(t *Tree) unix.Errno {
	t.mu.Lock()
	l := d.node.layout
	t.mu.Unlock()
	d.entries = []fuse.DirEntry{}
	if d.fd < 0 {
		d.entries = append(d.entries, fuse.DirEntry{Name: ".", Mode: unix.S_IFDIR}, fuse.DirEntry{Name: "..", Mode: unix.S_IFDIR})
	} else {
		if e := d.seek(0); e != 0 {
			return e
		}
		for {
			var entry fuse.DirEntry
			size, e := d.peek(t, &entry)
			if size == 0 && (e == 0 || e == unix.ENOENT && l != nil) {
				break // also when the host has removed it: the table's names remain
			}
			if e != 0 {
				return e
			}
			d.pos += size
			if l != nil && l.kids[entry.Name] != nil {
				continue
			}
			entry.Ino = t.shownInode(d.node.ident.dev, entry.Ino)
			d.entries = append(d.entries, entry)
		}
	}
	if l == nil {
		return 0
	}
	for _, name := range l.names() {
		d.entries = append(d.entries, fuse.DirEntry{Name: name, Mode: unix.S_IFDIR})
	}
	return 0
}
