package exec

import (
	"fmt"
	"io"
	"sync"
)

// Marker is the line that stands for bytes left out of a stream. It begins with
// a newline, since what is before it may end anywhere.
func Marker(omitted int64) []byte {
	return fmt.Appendf(nil, "\n[%d bytes omitted]\n", omitted)
}

// Limited bounds a live stream: the head passes through as it comes, the tail
// follows at Close, after a marker where something was left out. It is safe for
// concurrent callers.
type Limited struct {
	mu     sync.Mutex
	w      io.Writer
	keep   *HeadTail
	passed int64 // bytes of the head handed on
	closed bool
	err    error
}

// NewLimited returns a writer that hands at most limit bytes on to w, and a
// marker. A negative limit hands on everything. Close must be called; it does
// not close w.
func NewLimited(w io.Writer, limit int64) *Limited {
	return &Limited{w: w, keep: NewHeadTail(limit)}
}

// Write implements io.Writer. The error is the first that w gave; nothing is
// written to w after it.
func (l *Limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return 0, io.ErrClosedPipe
	case l.err != nil:
		return 0, l.err
	case l.keep.limit < 0:
		l.pass(p)
	default:
		l.keep.Write(p)
		// The last bytes of the head wait until it is certain that no rune
		// lies across its border.
		safe := int64(len(l.keep.head))
		if len(l.keep.after) < straddle {
			safe = min(safe, int64(l.keep.headSize-straddle))
		} else {
			around := append(append([]byte(nil), l.keep.head[max(0, safe-straddle):]...), l.keep.after...)
			inner := int(min(safe, straddle))
			safe -= int64(inner - borderBefore(around, inner))
		}
		if safe > l.passed {
			from := l.passed
			l.passed = safe
			l.pass(l.keep.head[from:safe])
		}
	}
	if l.err != nil {
		return 0, l.err
	}
	return len(p), nil
}

// Close writes the rest: the tail, after a marker where something was left out.
func (l *Limited) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.err != nil || l.keep.limit < 0 {
		l.closed = true
		return l.err
	}
	l.closed = true
	head, tail, omitted := l.keep.parts()
	rest := head[l.passed:]
	if omitted > 0 {
		rest = append(append(append([]byte(nil), rest...), Marker(omitted)...), tail...)
	}
	if len(rest) > 0 {
		l.pass(rest)
	}
	return l.err
}

// Omitted is the number of bytes left out, known after Close.
func (l *Limited) Omitted() int64 {
	if l.keep.limit < 0 {
		return 0
	}
	return l.keep.Omitted()
}

func (l *Limited) pass(p []byte) {
	if _, err := l.w.Write(p); err != nil {
		l.err = err
	}
}
