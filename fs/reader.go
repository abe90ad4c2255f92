package fs

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A reader's buffers hold the greatest request and the greatest reply. They
// are mapped and not allocated: a page of them takes memory only from when it
// is written on, and the collector has nothing to do with them.
type reader struct {
	c       *connection
	mapped  []byte
	in, out []byte
	// slots spare an allocation for each request that the library handles.
	slots [2][1][]byte
	// large says that a request or a reply was larger than small.
	large atomic.Bool
	// turns is odd while a request is at work.
	turns atomic.Uint64
}

const (
	pageSize   = 4096
	headerRoom = pageSize // more than any request's or reply's fixed part
	bufferSize = headerRoom + maxRequest
	// small is how much of each buffer a reader keeps when it has been idle.
	small = 64 << 10
)

// newReader places the buffers so that the data of a WRITE and of a READ
// begin at a page, which copies faster.
func newReader(c *connection) (*reader, error) {
	mapped, err := unix.Mmap(-1, 0, 2*(pageSize+bufferSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("fs: mapping a request's buffers: %w", err)
	}
	in, out := mapped[:pageSize+bufferSize], mapped[pageSize+bufferSize:]
	return &reader{c: c, mapped: mapped, in: in[pageSize-writeHeader:][:bufferSize], out: out[pageSize-outHeader:][:bufferSize]}, nil
}

// readAgain is how long a reader waits after it could not read.
const readAgain = 10 * time.Millisecond

func (r *reader) free() { unix.Munmap(r.mapped) }

// yieldEvery is after how many requests a reader lets others run. Without it
// the runtime's monitor sees a goroutine that has run for too long, wakes
// every few microseconds to take its processor away in the middle of a system
// call, and moves it to another thread: a quarter of the time of an open(2).
const yieldEvery = 32

// serve answers requests until the connection ends or there are enough other
// readers.
func (r *reader) serve() {
	failed := false
	for count := 1; !r.c.closing.Load(); count++ {
		if count%yieldEvery == 0 {
			runtime.Gosched()
		}
		n, e := r.read()
		switch {
		case e == unix.ENODEV || e == unix.EAGAIN:
			return
		case e != 0:
			// There was no memory for a request, say: the kernel has answered
			// it with an error, and the next may fare better. A reader that
			// left would be missed, and with the last one the mount is dead.
			if !failed {
				failed = true
				r.c.log.WithError(e).Error("a request cannot be read")
			}
			time.Sleep(readAgain)
			continue
		}
		failed = false
		if n < inHeader {
			r.c.log.WithField("bytes", n).Warn("a request without a header")
			continue
		}
		request := r.in[:n]
		r.turns.Add(1)
		r.c.begin(as[fuse.InHeader](request).Opcode)
		r.answer(request)
		r.turns.Add(1)
		if r.c.end() {
			return
		}
	}
}

// read waits for a request. ENODEV is the end of the mount, EAGAIN that of
// the connection.
func (r *reader) read() (int, unix.Errno) {
	for {
		n, err := unix.Read(r.c.fd, r.in)
		switch e := errno(err); e {
		case unix.EINTR, // a signal of the runtime
			unix.ENOENT: // whoever asked has gone while the request was being read
		case unix.EAGAIN:
			if r.c.closing.Load() {
				return 0, e
			}
			// To be reminded of its memory, or another holder of the device has
			// changed its mode.
			r.shrink()
			unix.Poll([]unix.PollFd{{Fd: int32(r.c.fd), Events: unix.POLLIN}}, -1)
		default:
			return n, e
		}
	}
}

// shrink gives back the memory of large requests. Only the reader may do that:
// while it is reading, the kernel writes there.
func (r *reader) shrink() {
	if !r.large.Load() {
		return
	}
	half := len(r.mapped) / 2
	for _, buffer := range [][]byte{r.mapped[:half], r.mapped[half:]} {
		unix.Madvise(buffer[small:], unix.MADV_DONTNEED)
	}
	r.large.Store(false)
}

// answer handles one request and writes the reply.
func (r *reader) answer(request []byte) {
	size := r.reply(request)
	if max(len(request), size) > small {
		r.large.Store(true)
	}
	if size == 0 {
		return
	}
	_, err := unix.Write(r.c.fd, r.out[:size])
	switch e := errno(err); e {
	case 0,
		unix.ENOENT, // whoever asked has gone
		unix.ENODEV: // and the mount, too
	default:
		r.c.log.WithError(e).WithField("request", as[fuse.InHeader](request).Opcode).Error("the kernel does not take a reply")
	}
}

// reply handles a request, makes its reply and returns the size of it, 0 if
// there is none.
func (r *reader) reply(request []byte) int {
	h := as[fuse.InHeader](request)
	size, how := r.call(h, request)
	switch {
	case how == notOurs:
		return r.delegate(h, request)
	case size == noReply:
		return 0
	case how != fuse.OK:
		size = 0
	}
	*as[fuse.OutHeader](r.out) = fuse.OutHeader{Length: uint32(outHeader + size), Status: -int32(how), Unique: h.Unique}
	return outHeader + size
}

// delegate leaves a request to the library.
func (r *reader) delegate(h *fuse.InHeader, request []byte) int {
	in, out := &r.slots[0], &r.slots[1]
	in[0], out[0] = request, r.out
	size, how := r.c.protocol.HandleRequest(in[:], out[:])
	if how != fuse.OK {
		*as[fuse.OutHeader](r.out) = fuse.OutHeader{Length: uint32(outHeader), Status: -int32(how), Unique: h.Unique}
		return outHeader
	}
	return size
}

// greet answers the first request, of n bytes, and notes what was settled.
func (r *reader) greet(n int) unix.Errno {
	request := r.in[:n]
	if n < inHeader || as[fuse.InHeader](request).Opcode != opInit {
		return unix.EPROTO
	}
	asked := as[fuse.InitIn](r.in).Flags64()
	size := r.delegate(as[fuse.InHeader](request), request)
	if status := as[fuse.OutHeader](r.out).Status; status != 0 {
		unix.Write(r.c.fd, r.out[:size])
		return unix.Errno(-status)
	}
	granted := as[fuse.InitOut](r.out[outHeader:]).Flags64()
	if _, err := unix.Write(r.c.fd, r.out[:size]); err != nil {
		return errno(err)
	}
	r.c.settled = asked & granted
	return 0
}
