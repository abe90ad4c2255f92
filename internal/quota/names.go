package quota

import "golang.org/x/sys/unix"

// Make runs act, which makes one inode with a name in dir, and counts it:
// bytes is the length of a symbolic link, 0 for anything else. EDQUOT: act was
// not run. act must not call the ledger.
func (l *Ledger) Make(dir int, mode uint32, bytes int64, act func() unix.Errno) unix.Errno {
	st := unix.Statx_t{Mode: uint16(mode), Size: uint64(max(bytes, 0))}
	charge := chargeOf(&st)
	return l.run(func(o *op) unix.Errno {
		o.lockNames(dir)
		if !l.reserve(charge, 1) {
			return unix.EDQUOT
		}
		e := act()
		if e != 0 {
			l.giveBack(charge, 1)
		}
		return e
	})
}

// Link runs act, which gives the inode of fd one more name in dir. It costs
// nothing.
func (l *Ledger) Link(fd, dir int, act func() unix.Errno) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		o.lockNames(dir)
		var st unix.Statx_t
		if e := statFD(fd, &st); e != 0 {
			return e
		}
		o.lockInode(inodeOf(&st))
		return act()
	})
}

// Unname runs act, which takes a name in dir away.
func (l *Ledger) Unname(dir int, name string, act func() unix.Errno) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		o.lockNames(dir)
		return o.replace(dir, name, act)
	})
}

// Move runs act, which moves a name from one directory to another, where what
// had the new name loses it.
func (l *Ledger) Move(from, to int, newName string, act func() unix.Errno) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		o.lockNames(from, to)
		return o.replace(to, newName, act)
	})
}

// Exchange runs act, which exchanges a name in each of two directories.
func (l *Ledger) Exchange(from, to int, act func() unix.Errno) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		o.lockNames(from, to)
		return act()
	})
}

// replace runs act, after which what has a name now, if anything, has it no
// more, and frees its charge if that was its last one. A file that somebody
// has open stays counted until it is closed.
func (o *op) replace(dir int, name string, act func() unix.Errno) unix.Errno {
	var st unix.Statx_t
	if e := statName(dir, name, &st); e != 0 {
		return act()
	}
	id := inodeOf(&st)
	o.lockInode(id)
	// It may have grown or got another name until it was locked.
	var now unix.Statx_t
	if statName(dir, name, &now) == 0 && inodeOf(&now) == id {
		st = now
	}
	if e := act(); e != 0 {
		return e
	}
	switch {
	case isDir(&st):
	case st.Nlink > 1:
		return 0
	case o.l.openHere(id):
		o.l.orphans.Add(1)
		return 0
	case o.openElsewhere(id):
		return 0
	}
	o.l.giveBack(chargeOf(&st), 1)
	return 0
}
