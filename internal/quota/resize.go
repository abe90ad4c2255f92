package quota

import "golang.org/x/sys/unix"

// Write runs act, which may make a file larger. fd is any descriptor of the
// file, O_PATH too; end returns where act would end if the file had the given
// size now. act must not write beyond most, which is less than that end where
// the quota does not suffice for all: a write may be cut short, and answers
// EDQUOT where nothing is left of it. What was reserved and not used is given
// back. act must not call the ledger.
func (l *Ledger) Write(dev, ino uint64, fd int, end func(size int64) int64, act func(most int64) unix.Errno) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		return o.resize(inode{dev, ino}, fd, unit, func(size int64) int64 { return max(size, end(size)) }, act)
	})
}

// Resize is [Ledger.Write] for what is done wholly or not at all: to returns
// the size that the file would have after act. EDQUOT: act was not run.
func (l *Ledger) Resize(dev, ino uint64, fd int, to func(size int64) int64, act func() unix.Errno) unix.Errno {
	return l.run(func(o *op) unix.Errno {
		return o.resize(inode{dev, ino}, fd, 0, to, func(int64) unix.Errno { return act() })
	})
}

// resize does both; least is the least growth in bytes that is worth it, 0
// for all or nothing.
func (o *op) resize(id inode, fd int, least int64, to func(int64) int64, act func(int64) unix.Errno) unix.Errno {
	l := o.l
	o.lockInode(id)
	var st unix.Statx_t
	if e := statFD(fd, &st); e != 0 {
		return e
	}
	before, most := chargeOf(&st), to(int64(st.Size))
	// A file without a name that nobody has open does not count. It can still
	// be truncated, by who has just looked it up.
	counts := st.Nlink > 0 || l.openHere(id) || o.openElsewhere(id)
	need := roundUp(most) - before
	if need == 0 {
		return act(most)
	}
	got := int64(0)
	if need > 0 {
		some := least > 0
		if !some {
			least = need
		}
		got = take(&l.h.bytes, need, l.limits.Bytes, least)
		switch {
		case got == need:
		case !some:
			return unix.EDQUOT
		default:
			most = before + got
		}
	}
	e := act(most)
	if statFD(fd, &st) != 0 {
		return e // counted as reserved; the next walk knows better
	}
	if !counts {
		l.giveBack(got, 0)
		return e
	}
	l.giveBack(got-(chargeOf(&st)-before), 0)
	return e
}
