package quota

import (
	"math"
	"sync/atomic"
)

// reserve takes bytes and files, or nothing. What it has taken belongs to the
// operation at work, which gives back what it does not use.
func (l *Ledger) reserve(bytes, files int64) bool {
	if take(&l.h.bytes, bytes, l.limits.Bytes, bytes) != bytes {
		return false
	}
	if take(&l.h.files, files, l.limits.Files, files) != files {
		l.h.bytes.Add(-bytes)
		return false
	}
	return true
}

// take adds as much as the limit allows of n to c, but not less than least,
// and returns how much. A limit of 0 is none.
func take(c *atomic.Int64, n, limit, least int64) int64 {
	if n <= 0 {
		return 0
	}
	if limit <= 0 {
		limit = math.MaxInt64 &^ (unit - 1)
	}
	for {
		now := c.Load()
		got := n
		if left := limit - now; got > left {
			got = left
			if got != n && least < n {
				got = max(got, 0) &^ (unit - 1)
			}
			if got < least || got <= 0 {
				return 0
			}
		}
		if c.CompareAndSwap(now, now+got) {
			return got
		}
	}
}

// charge adds what is there already, whether or not the limits allow it.
func (l *Ledger) charge(bytes, files int64) {
	l.h.bytes.Add(bytes)
	l.h.files.Add(files)
}

// giveBack takes off what is no longer used. A number that would be negative
// says that the host added files behind our back: they are counted soon.
func (l *Ledger) giveBack(bytes, files int64) {
	for _, c := range [...]struct {
		of *atomic.Int64
		n  int64
	}{{&l.h.bytes, bytes}, {&l.h.files, files}} {
		for {
			now := c.of.Load()
			next := now - c.n
			if c.n > 0 && next < 0 {
				next = min(now, 0)
				l.h.countedAt.Store(0)
			}
			if c.of.CompareAndSwap(now, next) {
				break
			}
		}
	}
}

// Usage returns what the thread holds and this holder's limits, 0 for none. It
// waits for the first count.
func (l *Ledger) Usage() (bytes, files, maxBytes, maxFiles int64) {
	if l == nil {
		return 0, 0, 0, 0
	}
	if l.h.valid.Load() != 1 || l.h.holders.Load() > 1 && l.anyDead() {
		l.settleDead()
	}
	return max(l.h.bytes.Load(), 0), max(l.h.files.Load(), 0), l.limits.Bytes, l.limits.Files
}

func (l *Ledger) anyDead() bool {
	for i := range l.h.slots {
		if l.dead(i) {
			return true
		}
	}
	return false
}

// settleDead buries the dead and counts if that makes it necessary.
func (l *Ledger) settleDead() {
	l.gate.Lock()
	if l.lockByte(gateByte, gatePatience) {
		l.bury()
		l.unlockByte(gateByte)
	}
	l.gate.Unlock()
	l.settle()
}
