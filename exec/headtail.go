package exec

import (
	"sync"
	"unicode/utf8"
)

// straddle is the most that a rune can extend beyond a border between bytes.
const straddle = utf8.UTFMax - 1

// HeadTail keeps the head and the tail of what is written to it, within a bound
// in bytes, and counts everything. Memory is bounded whatever is written. Where
// something is left out, head and tail end and begin between two runes; bytes
// that are not valid UTF-8 count as runes of one byte and stay as they are.
// Writes never fail. It is safe for concurrent callers.
type HeadTail struct {
	mu    sync.Mutex
	limit int64 // of head and tail together; negative is none
	total int64
	// head is the start of the stream, up to half of the limit.
	head     []byte
	headSize int
	// ring holds the last bytes after the head: as many as the tail may have,
	// and those around its border that decide where a rune begins.
	ring     []byte
	ringSize int
	at       int // the oldest byte, when the ring is full
	// after is what followed the head, to decide whether a rune lies across
	// its border.
	after []byte
}

// NewHeadTail returns a HeadTail that keeps at most limit bytes: half of them,
// rounded down, from the start. A negative limit keeps everything.
func NewHeadTail(limit int64) *HeadTail {
	h := &HeadTail{limit: limit}
	if limit >= 0 {
		h.headSize = int(limit / 2)
		h.ringSize = int(limit) - h.headSize + straddle
	}
	return h
}

// Write implements io.Writer. It takes everything and never fails.
func (h *HeadTail) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(p)
	h.total += int64(n)
	if h.limit < 0 {
		h.head = append(h.head, p...)
		return n, nil
	}
	if room := h.headSize - len(h.head); room > 0 {
		k := min(room, len(p))
		h.head = append(h.head, p[:k]...)
		p = p[k:]
	}
	if room := straddle - len(h.after); room > 0 {
		h.after = append(h.after, p[:min(room, len(p))]...)
	}
	h.push(p)
	return n, nil
}

// push appends to the ring, over its oldest bytes.
func (h *HeadTail) push(p []byte) {
	if len(p) >= h.ringSize {
		h.ring = append(h.ring[:0], p[len(p)-h.ringSize:]...)
		h.at = 0
		return
	}
	if room := h.ringSize - len(h.ring); room > 0 {
		k := min(room, len(p))
		h.ring = append(h.ring, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(h.ring[h.at:], p)
		p = p[k:]
		h.at = (h.at + k) % h.ringSize
	}
}

// unrolled is the ring in order.
func (h *HeadTail) unrolled() []byte {
	out := make([]byte, 0, len(h.ring))
	return append(append(out, h.ring[h.at:]...), h.ring[:h.at]...)
}

// Total is the number of bytes written.
func (h *HeadTail) Total() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// Head is all of the stream where nothing was left out, else its start.
func (h *HeadTail) Head() []byte { head, _, _ := h.parts(); return head }

// Tail is the end of the stream where something was left out, else empty.
func (h *HeadTail) Tail() []byte { _, tail, _ := h.parts(); return tail }

// Omitted is the number of bytes left out between head and tail.
func (h *HeadTail) Omitted() int64 { _, _, omitted := h.parts(); return omitted }

// Bytes is head and tail in one, with the marker of [Marker] between them where
// something was left out.
func (h *HeadTail) Bytes() []byte {
	head, tail, omitted := h.parts()
	if omitted > 0 {
		head = append(head, Marker(omitted)...)
	}
	return append(head, tail...)
}

// parts returns copies of head and tail and the number of bytes between them.
func (h *HeadTail) parts() (head, tail []byte, omitted int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit < 0 || h.total <= h.limit {
		return append(append([]byte(nil), h.head...), h.unrolled()...), nil, 0
	}
	around := append(append([]byte(nil), h.head...), h.after...)
	head = around[:borderBefore(around, len(h.head))]
	last := h.unrolled()
	border := len(last) - (h.ringSize - straddle)
	if h.total == int64(len(h.head)+len(last)) {
		// Nothing has left the ring yet: what is before it is the head.
		before := h.head[max(0, len(h.head)-straddle):]
		last = append(append([]byte(nil), before...), last...)
		border += len(before)
	}
	tail = last[borderAfter(last, border):]
	return head[:len(head):len(head)], tail, h.total - int64(len(head)) - int64(len(tail))
}

// borderBefore is the last position at or before i that is not inside a rune.
func borderBefore(b []byte, i int) int {
	for k := 1; k <= straddle && k <= i; k++ {
		if _, size := utf8.DecodeRune(b[i-k:]); size > k {
			return i - k
		}
	}
	return i
}

// borderAfter is the first position at or after i that is not inside a rune.
func borderAfter(b []byte, i int) int {
	for k := 1; k <= straddle && k <= i; k++ {
		if _, size := utf8.DecodeRune(b[i-k:]); size > k {
			return i - k + size
		}
	}
	return i
}
