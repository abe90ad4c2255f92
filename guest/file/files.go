package file

import (
	"sync"

	"golang.org/x/sys/unix"
)

// Files does the file calls. All methods are safe for concurrent use; writes
// of one file follow one another.
type Files struct {
	// beforeRename, for tests, runs where a command's write would be lost if
	// nobody looked.
	beforeRename func()

	mu    sync.Mutex
	locks map[place]*lock // guarded by mu; one for each file being written
}

// New returns a Files for the root that this process sees.
func New() *Files { return &Files{locks: map[place]*lock{}} }

// place names a file by its directory and its name there, so that all
// spellings of a path share a lock, and so do a file and what replaces it.
type place struct {
	dev, ino uint64
	name     string
}

type lock struct {
	mu    sync.Mutex
	users int // guarded by Files.mu
}

// lock makes the caller the only writer of a file. No call holds two.
func (f *Files) lock(dir int, name string) (unlock func(), err error) {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return nil, err
	}
	p := place{dev: uint64(st.Dev), ino: st.Ino, name: name} //nolint:unconvert // Dev has another type on some architectures
	f.mu.Lock()
	l := f.locks[p]
	if l == nil {
		l = &lock{}
		f.locks[p] = l
	}
	l.users++
	f.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(f.locks, p)
		}
	}, nil
}
