package quota

import "golang.org/x/sys/unix"

// An inode counts as long as it has a name or is open in a holder. Each
// transition is decided under the inode's lock: who opens first in his process
// shares the lock on its openByte, who closes last drops it.

// Opened records that a file was opened; fd is any descriptor of it.
// Each call is undone by [Ledger.Closed].
func (l *Ledger) Opened(dev, ino uint64, fd int) {
	o := l.begin()
	defer o.end()
	id := inode{dev, ino}
	o.lockInode(id)
	o.opened(id, fd, false)
}

// opened does it; charged says that a file without a name is counted already.
func (o *op) opened(id inode, fd int, charged bool) {
	l := o.l
	l.openMu.Lock()
	l.opens[id]++
	first := l.opens[id] == 1
	l.openMu.Unlock()
	if !first {
		return
	}
	l.setLock(unix.F_RDLCK, openByte(id), 1)
	var st unix.Statx_t
	if statFD(fd, &st) == 0 && st.Nlink == 0 {
		l.orphans.Add(1)
		if !charged && !o.openElsewhere(id) {
			l.charge(chargeOf(&st), 1) // by a descriptor without rights, such as O_PATH, it came back
		}
	}
}

// Closed records that a file was closed. fd, any descriptor of it, is still
// open.
func (l *Ledger) Closed(dev, ino uint64, fd int) {
	o := l.begin()
	defer o.end()
	id := inode{dev, ino}
	o.lockInode(id)
	l.openMu.Lock()
	l.opens[id]--
	last := l.opens[id] <= 0
	if last {
		delete(l.opens, id)
	}
	l.openMu.Unlock()
	if !last {
		return
	}
	l.setLock(unix.F_UNLCK, openByte(id), 1)
	var st unix.Statx_t
	if statFD(fd, &st) != 0 || st.Nlink != 0 {
		return
	}
	if l.orphans.Add(-1) < 0 {
		l.orphans.Store(0) // another holder took its name away
	}
	if !o.openElsewhere(id) {
		l.giveBack(chargeOf(&st), 1)
	}
}

// Nameless runs act, which makes a file without a name (O_TMPFILE), and
// records it as opened. EDQUOT: act was not run.
func (l *Ledger) Nameless(act func() (fd int, e unix.Errno)) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		if !l.reserve(0, 1) {
			return unix.EDQUOT
		}
		fd, e := act()
		var st unix.Statx_t
		if e == 0 {
			e = statFD(fd, &st)
		}
		if e != 0 {
			l.giveBack(0, 1)
			return e
		}
		id := inodeOf(&st)
		o.lockInode(id)
		o.opened(id, fd, true)
		return 0
	})
}

func (l *Ledger) openHere(id inode) bool {
	l.openMu.Lock()
	defer l.openMu.Unlock()
	return l.opens[id] > 0
}

func (o *op) openElsewhere(id inode) bool {
	return o.shared && o.l.lockedElsewhere(openByte(id), 1)
}
