package fs

import (
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A listing may introduce each name to the kernel, as a lookup does, which
// spares whoever looks at every file a request for each; and which for whoever
// only wants the names, as find(1) mostly does, takes several times as long as
// the listing itself, and memory here and in the kernel for every file. The
// request does not say who is asking.
//
// Directories are introduced always: whoever lists a tree goes into them. With
// the rest we wait until a name that a listing gave without its file is looked
// up. From then on for curiosity, listings introduce everything; then one of
// them asks the question again. So neither pays for more than one directory.
const curiosity = time.Second

// interest is whether clients want to know more than the names of files.
type interest struct{ until atomic.Int64 } // nanoseconds of the process's clock

// clock begins with the process, so that reading it is one call and nobody
// can set it.
var clock = time.Now()

func (i *interest) lasts() bool { return int64(time.Since(clock)) < i.until.Load() }

func (i *interest) begin() { i.until.Store(int64(time.Since(clock) + curiosity)) }

// lookedUp records that a name in a directory was looked up on its own.
func (t *Tree) lookedUp(parent *node, mode uint32) {
	if mode&unix.S_IFMT != unix.S_IFDIR && parent.bare.Load() {
		parent.bare.Store(false)
		t.interest.begin()
	}
}

// introduces reports whether a listing of a directory introduces an entry.
func (t *Tree) introduces(parent *node, e *fuse.DirEntry, everything bool) bool {
	if everything || e.Mode == 0 || e.Mode&unix.S_IFMT == unix.S_IFDIR {
		return true
	}
	parent.bare.Store(true)
	return false
}
