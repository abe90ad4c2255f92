package quota

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Every counted operation says in its holder's slot that it is at work. Who
// wants to count takes the gate's lock, sets stop, and waits until nobody is
// at work; whoever begins meanwhile waits for the gate. Both sides write their
// own word before they read the other's, so one of them sees the other.
//
// So an operation costs two additions to memory and no system call, as long
// as its process is the only one that holds the ledger. With others it locks
// what it changes (op.lockInode, op.lockNames).

// op is one operation at work.
type op struct {
	l *Ledger
	// shared is whether others hold the ledger.
	shared bool
	held   [4]held
	n      int
}

// held is a lock of an operation.
type held struct {
	mu   *sync.Mutex
	byte int64 // 0: none
}

const (
	// refreshLeast and refreshShare bound how often a want of quota makes the
	// thread be counted anew: at most one part in refreshShare of the time.
	refreshLeast = time.Second
	refreshShare = 20
	// recountLeast and recountShare do so for walks that nothing asks for but
	// the time that has passed.
	recountLeast = 20 * time.Second
	recountShare = 200
)

// begin waits while somebody counts.
func (l *Ledger) begin() op {
	s := &l.h.slots[l.slot]
	for {
		s.inflight.Add(1)
		s.ops.Add(1)
		if l.h.stop.Load() == 0 && l.h.valid.Load() == 1 {
			l.perhapsRecount()
			return op{l: l, shared: l.h.holders.Load() > 1}
		}
		s.inflight.Add(-1)
		if !l.settle() {
			s.inflight.Add(1) // who counts has been stopped: rather wrong for a while than not at all
			return op{l: l, shared: true}
		}
	}
}

func (o *op) end() {
	for o.n > 0 {
		o.n--
		if h := o.held[o.n]; h.byte != 0 {
			o.l.unlockByte(h.byte)
		}
		o.held[o.n].mu.Unlock()
	}
	o.l.h.slots[o.l.slot].inflight.Add(-1)
}

// hold takes a stripe for the operation's time, in this process and, where
// others hold the ledger, among all.
func (o *op) hold(mu *sync.Mutex, at int64) {
	mu.Lock()
	if !o.shared || !o.l.lockByte(at, patience) {
		at = 0
	}
	o.held[o.n] = held{mu, at}
	o.n++
}

// lockInode is taken after names, and once.
func (o *op) lockInode(i inode) {
	n := i.hash() % inoStripes
	o.hold(&o.l.inodes[n], inoBytes+int64(n))
}

// lockNames locks the names in one or two directories against other trees.
// Within one tree the kernel does so already.
func (o *op) lockNames(dirs ...int) {
	if !o.shared {
		return
	}
	var stripes [2]uint64
	n := 0
	for _, fd := range dirs {
		var st unix.Statx_t
		if statFD(fd, &st) != 0 {
			continue
		}
		s := inodeOf(&st).hash() % nameStripes
		if n == 1 && stripes[0] == s {
			continue
		}
		stripes[n] = s
		n++
	}
	if n == 2 && stripes[0] > stripes[1] {
		stripes[0], stripes[1] = stripes[1], stripes[0]
	}
	for _, s := range stripes[:n] {
		o.hold(&o.l.names[s], nameBytes+int64(s))
	}
}

// run does an operation, and once more if it lacked quota and the numbers
// turn out to have been old.
func (l *Ledger) run(act func(o *op) unix.Errno) unix.Errno {
	e := l.once(act)
	if e == unix.EDQUOT && l.refresh() {
		e = l.once(act)
	}
	return e
}

func (l *Ledger) once(act func(o *op) unix.Errno) unix.Errno {
	o := l.begin()
	defer o.end()
	return act(&o)
}

// settle waits for whoever counts, or counts. It reports whether the numbers
// were right then.
func (l *Ledger) settle() bool {
	l.gate.Lock()
	defer l.gate.Unlock()
	if !l.lockByte(gateByte, gatePatience) {
		return false
	}
	defer l.unlockByte(gateByte)
	if l.h.stop.Load() != 0 || l.h.valid.Load() != 1 {
		l.recount()
	}
	return true
}

// refresh counts anew after a want of quota, if the numbers may be wrong, and
// reports whether it was worth it to try again.
func (l *Ledger) refresh() bool {
	if l.orphans.Load() > 0 {
		// The kernel reports the last close of a file a moment after close(2).
		time.Sleep(time.Millisecond)
	}
	l.gate.Lock()
	defer l.gate.Unlock()
	if !l.lockByte(gateByte, gatePatience) {
		return false
	}
	defer l.unlockByte(gateByte)
	l.bury()
	age := monotonic() - l.h.countedAt.Load()
	if l.h.valid.Load() == 1 && age < max(int64(refreshLeast), refreshShare*l.h.countTook.Load()) {
		return true
	}
	l.recount()
	return true
}

// recount stops everybody and counts. The gate is held.
func (l *Ledger) recount() {
	l.h.stop.Store(1)
	l.bury()
	began := monotonic()
	drained := l.drain(patience)
	l.store(l.count(), began)
	if !drained {
		l.recountSoon()
	}
	l.h.stop.Store(0)
}

func (l *Ledger) store(u usage, began int64) {
	l.h.bytes.Store(u.bytes)
	l.h.files.Store(u.files)
	l.h.countTook.Store(monotonic() - began)
	l.h.countedAt.Store(monotonic())
	l.h.walks.Add(1)
	l.h.valid.Store(1)
}

// drain waits until no operation is at work. The gate is held and stop set.
// It gives up on a holder that takes longer, as a stopped one does.
func (l *Ledger) drain(atMost time.Duration) bool {
	end := time.Now().Add(atMost)
	for i := range l.h.slots {
		s := &l.h.slots[i]
		pause := 10 * time.Microsecond
		for s.used.Load() != 0 && s.inflight.Load() > 0 {
			if time.Now().After(end) {
				return false
			}
			if pause >= time.Millisecond && l.dead(i) {
				l.bury()
				break
			}
			time.Sleep(pause)
			pause = min(2*pause, time.Millisecond)
		}
	}
	return true
}

// perhapsRecount begins a walk in the background when the last was long ago:
// the host may have changed the thread's files behind our back.
func (l *Ledger) perhapsRecount() {
	age := monotonic() - l.h.countedAt.Load()
	if age < max(int64(recountLeast), recountShare*l.h.countTook.Load()) {
		return
	}
	if l.closed.Load() || !l.counting.CompareAndSwap(false, true) {
		return
	}
	l.running.Go(func() {
		defer l.counting.Store(false)
		l.recountQuietly()
	})
}

// recountQuietly counts while others work, and believes it only if nobody
// did.
func (l *Ledger) recountQuietly() {
	l.gate.Lock()
	defer l.gate.Unlock()
	if !l.setLock(unix.F_WRLCK, gateByte, 1) {
		return // somebody counts already
	}
	defer l.unlockByte(gateByte)
	before, ok := l.quiet()
	l.h.stop.Store(0)
	if !ok {
		l.recountSoon()
		return
	}
	began := monotonic()
	u := l.count()
	after, ok := l.quiet()
	switch {
	case ok && after == before && l.h.valid.Load() == 1:
		l.store(u, began)
	default:
		l.h.countTook.Store(monotonic() - began)
		l.recountSoon()
	}
	l.h.stop.Store(0)
}

// recountSoon lets the next walk begin sooner than usual, but not at once.
func (l *Ledger) recountSoon() { l.h.countedAt.Store(monotonic() - int64(recountLeast)/2) }

// quiet stops everybody and returns how many operations there were so far.
func (l *Ledger) quiet() (ops int64, ok bool) {
	l.h.stop.Store(1)
	ok = l.drain(quietPatience)
	for i := range l.h.slots {
		if l.h.slots[i].used.Load() != 0 {
			ops += l.h.slots[i].ops.Load()
		}
	}
	return ops, ok
}
