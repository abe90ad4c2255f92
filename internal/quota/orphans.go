package quota

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// addOrphans counts the inodes that have no name any more and are open in a
// holder. The kernel knows them: they are among what the holders' processes
// have open, and an open one has its openByte locked. So nothing needs to be
// recorded that could be wrong after somebody was killed. The gate is held and
// nobody works.
func (l *Ledger) addOrphans(w *walker) {
	seen := map[inode]struct{}{}
	pids := map[int64]struct{}{}
	for i := range l.h.slots {
		if s := &l.h.slots[i]; s.used.Load() != 0 {
			pids[s.pid.Load()] = struct{}{}
		}
	}
	for pid := range pids {
		l.addOrphansOf(pid, w, seen)
	}
}

func (l *Ledger) addOrphansOf(pid int64, w *walker, seen map[inode]struct{}) {
	path := fmt.Sprintf("/proc/%d/fd", pid)
	dir, err := os.Open(path)
	if err != nil {
		return // its user may not look: counted when it closes them
	}
	defer dir.Close()
	fd := int(dir.Fd())
	readNames(fd, func(name string) {
		if name == "." || name == ".." {
			return
		}
		var st unix.Statx_t
		e := retry(func() error { return unix.Statx(fd, name, unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, statMask, &st) })
		if e != 0 || st.Nlink != 0 || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return
		}
		id := inodeOf(&st)
		if _, ok := seen[id]; ok || !l.isOpen(id) {
			return
		}
		seen[id] = struct{}{}
		w.add(&st)
	})
}

// isOpen reports whether any holder has an inode open.
func (l *Ledger) isOpen(id inode) bool {
	l.openMu.Lock()
	here := l.opens[id] > 0
	l.openMu.Unlock()
	return here || l.lockedElsewhere(openByte(id), 1)
}
