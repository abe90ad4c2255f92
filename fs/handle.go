package fs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// file is an open regular file. Its node's descriptor stays pinned for as
// long as the file is open, so an unlinked file lives on.
type file struct {
	node  *node
	flags uint32 // of the client's open: access mode, O_SYNC, O_DSYNC

	mu sync.Mutex
	fd int // -1 with passthrough until an operation needs one
}

const accessMode = unix.O_ACCMODE

func (f *file) writes() bool { return f.flags&accessMode != unix.O_RDONLY }

// real returns a descriptor with the rights of the client's open, for what
// passthrough does not cover.
func (f *file) real(t *Tree) (int, unix.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fd >= 0 {
		return f.fd, 0
	}
	fd, e := t.reopenFD(f.node.fd, hostFlags(f.flags))
	if e == 0 {
		f.fd = fd
		t.handleFDs.Add(1)
	}
	return fd, e
}

// hostFlags keeps of a client's open flags what matters to the host. O_APPEND
// is not among them: each write says for itself whether it appends.
func hostFlags(flags uint32) int {
	return int(flags&(accessMode|unix.O_SYNC|unix.O_DSYNC)) | unix.O_NONBLOCK
}

// handleTable numbers what clients have open. Numbers are not reused.
type handleTable struct {
	mu    sync.Mutex
	last  uint64
	files map[uint64]*file
	dirs  map[uint64]*dir
}

func (h *handleTable) addFile(f *file) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		h.files = map[uint64]*file{}
	}
	h.last++
	h.files[h.last] = f
	return h.last
}

func (h *handleTable) file(id uint64) *file {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.files[id]
}

func (h *handleTable) takeFile(id uint64) *file {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.files[id]
	delete(h.files, id)
	return f
}

func (h *handleTable) addDir(d *dir) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dirs == nil {
		h.dirs = map[uint64]*dir{}
	}
	h.last++
	h.dirs[h.last] = d
	return h.last
}

func (h *handleTable) dir(id uint64) *dir {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dirs[id]
}

func (h *handleTable) takeDir(id uint64) *dir {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.dirs[id]
	delete(h.dirs, id)
	return d
}

func (h *handleTable) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.files) + len(h.dirs)
}

// closeAll ends what an aborted connection left open.
func (h *handleTable) closeAll(t *Tree) {
	h.mu.Lock()
	files, dirs := h.files, h.dirs
	h.files, h.dirs = nil, nil
	h.mu.Unlock()
	for _, f := range files {
		t.closeFile(f)
	}
	for _, d := range dirs {
		t.closeDir(d)
	}
}
