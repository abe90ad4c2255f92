package fs

import (
	"bytes"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

const (
	eventHeader = unix.SizeofInotifyEvent
	// eventBuffer holds some hundred events with long names.
	eventBuffer = 64 << 10
)

// drain reads all events that there are and notes what has to be compared. It
// returns their size in bytes, and whether some were lost. The caller holds mu.
func (h *watcher) drain() (size int, lost bool) {
	if h.fd < 0 {
		return 0, false
	}
	if h.buf == nil {
		h.buf = make([]byte, eventBuffer)
	}
	for {
		n, err := unix.Read(h.fd, h.buf)
		if errno(err) == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return size, lost
		}
		size += n
		for rest := h.buf[:n]; len(rest) >= eventHeader; {
			wd := int32(binary.NativeEndian.Uint32(rest))
			mask := binary.NativeEndian.Uint32(rest[4:])
			length := int(binary.NativeEndian.Uint32(rest[12:]))
			name := rest[eventHeader:][:length]
			rest = rest[eventHeader+length:]
			if mask&disturbingMask != 0 {
				h.disturbed++
			}
			if mask&unix.IN_Q_OVERFLOW != 0 {
				lost = true
				continue
			}
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			for _, w := range h.byWD[wd] {
				h.note(w, mask, name)
			}
		}
	}
}

// note has an event's name compared if the kernel may keep it, and its
// directory if it may have changed.
func (h *watcher) note(w *watch, mask uint32, name []byte) {
	if mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 {
		h.dirsDue[w] = struct{}{}
		w.until = time.Time{} // the host has ended the watch
		if w.node.watch == w {
			w.node.watch = nil
		}
		for name := range w.names {
			h.due[spot{w, name}] |= mask
		}
		return
	}
	if len(name) == 0 || mask&namesMask != 0 {
		h.dirsDue[w] = struct{}{}
	}
	if _, known := w.names[string(name)]; !known {
		return
	}
	if before, ok := h.due[spot{w, string(name)}]; !ok || before|mask != before {
		h.due[spot{w, string(name)}] |= mask
	}
}

// compare reads again what events were about, and says what is not right.
func (h *watcher) compare(again *repeats) {
	for s, mask := range h.due {
		again.say(h, h.compareName(s, mask)...)
	}
	for w := range h.dirsDue {
		again.say(h, h.compareDirectory(w)...)
	}
	h.nothingDue()
}

func (h *watcher) nothingDue() {
	if len(h.due) > 4096 {
		h.due = map[spot]uint32{} // a map keeps its size
	}
	clear(h.due)
	clear(h.dirsDue)
}

// compareName looks at one name of a directory.
func (h *watcher) compareName(s spot, mask uint32) (wrong []notice) {
	if !h.remembers(s) {
		return nil // the tree has taken it away itself
	}
	var st unix.Statx_t
	dir, e := h.t.acquire(s.w.node)
	if e == 0 {
		e = statName(dir, s.name, &st)
		h.t.release(s.w.node)
	}
	if e == 0 && mask&unix.IN_IGNORED != 0 {
		e = unix.ESTALE // it is not watched any more
	}
	n, right, changed := h.hold(s, e, &st)
	if !right {
		wrong = append(wrong, lossOf(s.w.node.id, s.name, n))
	}
	// The pages that the client's kernel holds of a file without passthrough
	// follow the attributes by the time of the last change, or at an open(2).
	// But the host's time stands still between two clock ticks, and a mapping
	// asks for no attributes. Of a file that its own clients write, the pages
	// are theirs.
	switch {
	case n == nil:
	case mask&contentsMask != 0 && !n.written.Swap(false) && !n.passes():
		wrong = append(wrong, dropOf(n.id))
	case changed:
		wrong = append(wrong, attributesOf(n.id))
	}
	return wrong
}

func (h *watcher) remembers(s spot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := s.w.names[s.name]
	return known
}

// hold holds what a name is, or the error e, against what the kernel was told:
// whether the name led there, to which node, and whether the attributes of
// that have changed. What is wrong is not remembered any more.
func (h *watcher) hold(s spot, e unix.Errno, st *unix.Statx_t) (n *node, right, changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, known := s.w.names[s.name]
	if !known {
		return nil, true, false
	}
	right = e == unix.ENOENT && n == nil || e == 0 && n != nil && n.ident == identityOf(st)
	if !right {
		h.unname(s.w, s.name)
	}
	if n != nil {
		changed = n.said.digest != 0 && (!right || n.said.unsure || n.said.digest != digestOf(st))
		if changed {
			n.said = saying{}
		}
	}
	return n, right, changed
}

// compareDirectory looks at a directory itself: its attributes, and the names
// that the kernel may keep of it.
func (h *watcher) compareDirectory(w *watch) []notice {
	var st unix.Statx_t
	n := w.node
	dir, e := h.t.acquire(n)
	if e == 0 {
		e = statFD(dir, &st)
		h.t.release(n)
	}
	h.mu.Lock()
	changed := n.said.digest != 0 && (e != 0 || n.said.unsure || n.said.digest != digestOf(&st))
	if changed {
		n.said = saying{}
	}
	h.mu.Unlock()
	n.open.Lock()
	listed := n.fresh != (version{}) && (e != 0 || n.fresh != versionOf(&st))
	if listed {
		n.fresh = version{}
	}
	n.open.Unlock()
	switch {
	case listed:
		return []notice{dropOf(n.id)}
	case changed:
		return []notice{attributesOf(n.id)}
	}
	return nil
}

// dropAll takes back everything that was given, since events are missing. For
// a while nothing is given then: what makes so many events would make the next
// ones be lost, too.
func (h *watcher) dropAll(again *repeats) {
	var all []notice
	h.mu.Lock()
	h.lost++
	h.rest = h.now.Add(watchRest)
	for _, ws := range h.byWD {
		for _, w := range ws {
			for name, n := range w.names {
				all = append(all, expiryOf(w.node.id, name))
				if n != nil && n.ident.kind != unix.S_IFDIR {
					all = append(all, dropOf(n.id))
					n.said = saying{}
				}
			}
			all = append(all, dropOf(w.node.id))
			w.node.said = saying{}
		}
	}
	h.closeInstance()
	h.mu.Unlock()
	h.nothingDue()
	again.say(h, all...)
}

// repeats are notices that are said twice. A notice may overtake the answer
// to a request that was at work when the host changed something, and the
// kernel would then keep what is in the answer. It is told again when all such
// requests are over, and clients have had time to take their answers.
type repeats struct {
	now     time.Time
	batches []batch
}

type batch struct {
	notices []notice
	over    func() bool
	at      time.Time
}

// repeatPatience bounds the wait for requests.
const repeatPatience = time.Minute

func (r *repeats) empty() bool { return len(r.batches) == 0 }

// say says notices now, and once more later.
func (r *repeats) say(h *watcher, notices ...notice) {
	if len(notices) == 0 {
		return
	}
	for _, n := range notices {
		if !h.say(n) {
			return
		}
	}
	if last := len(r.batches) - 1; last >= 0 && r.batches[last].at.Equal(r.now) {
		r.batches[last].notices = append(r.batches[last].notices, notices...)
		return
	}
	r.batches = append(r.batches, batch{notices, h.inFlight(), r.now})
}

// send repeats what is due.
func (r *repeats) send(h *watcher) {
	var left []batch
	for _, b := range r.batches {
		age := r.now.Sub(b.at)
		if age < watchTick || !b.over() && age < repeatPatience {
			left = append(left, b)
			continue
		}
		for _, n := range b.notices {
			if !h.say(n) {
				return
			}
		}
	}
	r.batches = left
}
