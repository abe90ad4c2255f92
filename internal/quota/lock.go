package quota

import (
	"time"

	"golang.org/x/sys/unix"
)

// The bytes of the file whose locks mean something. They belong to open file
// descriptions (F_OFD_SETLK), so that two ledgers of one process keep out of
// each other's way too, and end with their process.
const (
	gateByte  = 1 << 20 // held by who counts, attaches or detaches
	slotBytes = 1 << 21 // one for each slot: its holder lives
	nameBytes = 1 << 22 // names in directories are being changed
	inoBytes  = 1 << 23 // an inode's size or number of names is being changed
	openBytes = 1 << 62 // shared: an inode is open somewhere

	nameStripes = 256
	inoStripes  = 1024
	openRange   = 1 << 60
)

const (
	// patience bounds the wait for another process that holds an inode or a
	// name: it may have been stopped. What goes on without the lock may be
	// counted wrongly until the next walk.
	patience = 2 * time.Second
	// quietPatience bounds how long everybody waits for a walk that nobody
	// asked for.
	quietPatience = 20 * time.Millisecond
	// gatePatience does so for one that counts.
	gatePatience = 20 * time.Second
)

// setLock sets or drops a lock on length bytes without waiting.
func (l *Ledger) setLock(kind int16, start, length int64) bool {
	lk := unix.Flock_t{Type: kind, Start: start, Len: length}
	return retry(func() error { return unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, &lk) }) == 0
}

// lockByte waits for an exclusive lock, for at most as long as given.
func (l *Ledger) lockByte(at int64, atMost time.Duration) bool {
	if l.setLock(unix.F_WRLCK, at, 1) {
		return true
	}
	pause := 20 * time.Microsecond
	for end := time.Now().Add(atMost); time.Now().Before(end); {
		time.Sleep(pause)
		pause = min(2*pause, time.Millisecond)
		if l.setLock(unix.F_WRLCK, at, 1) {
			return true
		}
	}
	return false
}

func (l *Ledger) unlockByte(at int64) { l.setLock(unix.F_UNLCK, at, 1) }

// lockedElsewhere reports whether another ledger, of any process, holds a lock
// of some kind in a range.
func (l *Ledger) lockedElsewhere(start, length int64) bool {
	lk := unix.Flock_t{Type: unix.F_WRLCK, Start: start, Len: length}
	e := retry(func() error { return unix.FcntlFlock(l.file.Fd(), unix.F_OFD_GETLK, &lk) })
	return e == 0 && lk.Type != unix.F_UNLCK
}

func openByte(i inode) int64 { return openBytes + int64(i.hash()%openRange) }
