package tool

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// keptStream is how much of each end of a stream is kept, in bytes, so that
// one command costs at most four times as much memory.
const keptStream = 1 << 20

// collector takes one stream of a command as it comes and keeps its head and
// its tail. Its methods may be called by several goroutines.
type collector struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // at most twice keptStream, of which the end counts
	total int64
	chars int64 // characters of the whole stream, if it is UTF-8
	line  []byte
	last  string // the last line that was complete
}

// lineKept bounds the line that is kept for reports of progress.
const lineKept = 200

func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	c.chars += int64(starts(p))
	c.follow(p)
	if room := keptStream - len(c.head); room > 0 {
		k := min(room, len(p))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := min(len(p), keptStream)
		if len(c.tail)+k > 2*keptStream {
			c.tail = append(c.tail[:0], c.tail[len(c.tail)-keptStream:]...)
		}
		c.tail = append(c.tail, p[:k]...)
		p = p[k:]
	}
	return n, nil
}

// follow keeps the last complete line that is not empty.
func (c *collector) follow(p []byte) {
	last := bytes.LastIndexByte(p, '\n')
	for end := last; end >= 0; {
		begin := bytes.LastIndexByte(p[:end], '\n') + 1
		line := p[begin:end]
		if begin == 0 {
			line = append(c.line, line[:min(len(line), lineKept)]...)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.last = string(bytes.ToValidUTF8(line[:min(len(line), lineKept)], nil))
			break
		}
		end = begin - 1
	}
	if last >= 0 {
		c.line, p = c.line[:0], p[last+1:]
	}
	if room := lineKept - len(c.line); room > 0 {
		c.line = append(c.line, p[:min(room, len(p))]...)
	}
}

// starts counts the bytes that begin a character of UTF-8.
func starts(p []byte) int {
	n := 0
	for _, b := range p {
		if b&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// progress returns the size of the stream so far and its last complete line.
func (c *collector) progress() (bytes int64, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total, c.last
}

// stream is what was kept of one, when it has ended.
type stream struct {
	head, tail string
	total      int64
	// gap is how many characters are missing between head and tail.
	gap int
	// broken counts bytes that are not UTF-8 and were replaced.
	broken int
}

// result returns what was kept.
func (c *collector) result() stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(len(c.head)+len(c.tail)) == c.total {
		return newStream(append(c.head, c.tail...), nil, c.total, c.chars)
	}
	tail := c.tail
	if over := len(tail) - keptStream; over > 0 {
		tail = tail[over:]
	}
	return newStream(c.head, tail, c.total, c.chars)
}

// newStream makes text of what was kept. Where something is missing, head and
// tail are cut between two characters.
func newStream(head, tail []byte, total, chars int64) stream {
	s := stream{total: total}
	if int64(len(head)+len(tail)) < total {
		for k := 1; k < utf8.UTFMax && k <= len(head); k++ {
			if b := head[len(head)-k]; utf8.RuneStart(b) {
				if !utf8.FullRune(head[len(head)-k:]) {
					head = head[:len(head)-k]
				}
				break
			}
		}
		for k := 0; k < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); k++ {
			tail = tail[1:]
		}
		s.gap = int(max(chars-int64(starts(head)+starts(tail)), 1))
	}
	s.broken = brokenBytes(head) + brokenBytes(tail)
	s.head, s.tail = string(bytes.ToValidUTF8(head, []byte("\uFFFD"))), string(bytes.ToValidUTF8(tail, []byte("\uFFFD")))
	return s
}

// brokenBytes counts the bytes that are not UTF-8.
func brokenBytes(p []byte) int {
	if utf8.Valid(p) {
		return 0
	}
	n := 0
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			n++
		}
		p = p[size:]
	}
	return n
}

// redact takes secrets out, also where a gap cut one in two.
func (s *stream) redact(r redactor) {
	if r.replacer == nil {
		return
	}
	if s.gap > 0 {
		end, start := r.headEnd(s.head), r.tailStart(s.tail)
		s.gap += utf8.RuneCountInString(s.head[end:]) + utf8.RuneCountInString(s.tail[:start])
		s.head, s.tail = s.head[:end], s.tail[start:]
	}
	s.head, s.tail = r.text(s.head), r.text(s.tail)
}
