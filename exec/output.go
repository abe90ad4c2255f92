package exec

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ttyDrain bounds how long a terminal that some process outside the tree
	// holds open is read after the end.
	ttyDrain = 250 * time.Millisecond
	// ttyRest bounds how much is read then; a terminal buffers less.
	ttyRest = 256 << 10
)

// output is the reading end of a command's stream. While the command runs it
// reads like the pipe; afterwards it gives what was in the pipe at the end and
// then end of file, whoever else may hold the other end.
type output struct {
	f     *os.File
	tty   bool
	ended atomic.Bool

	mu      sync.Mutex // guards what follows, after the end
	awake   bool       // the deadline that woke readers is taken off
	rest    int64      // bytes still to be given
	drainBy time.Time
}

func newOutput(f *os.File, tty bool) *output { return &output{f: f, tty: tty} }

// Read implements io.Reader.
func (o *output) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for !o.ended.Load() {
		n, err := o.f.Read(p)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue // finish woke us
		case err == io.EOF, errors.Is(err, unix.EIO): // EIO: the terminal's last user is gone
			return 0, io.EOF
		default:
			return 0, err
		}
	}
	return o.readRest(p)
}

// Close closes our end.
func (o *output) Close() error { return o.f.Close() }

// finish is called when the tree is gone.
func (o *output) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tty {
		o.rest, o.drainBy = ttyRest, time.Now().Add(ttyDrain)
	} else {
		o.rest = int64(o.waiting())
	}
	o.ended.Store(true)
	o.f.SetReadDeadline(time.Unix(1, 0)) // wakes a reader
}

// waiting is the number of bytes in the pipe.
func (o *output) waiting() int {
	n := 0
	if raw, err := o.f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}

// readRest reads without waiting.
func (o *output) readRest(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.awake {
		o.awake = true
		o.f.SetReadDeadline(time.Time{})
	}
	raw, err := o.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	for o.rest > 0 {
		p = p[:min(int64(len(p)), o.rest)]
		n, errno := 0, error(nil)
		if err := raw.Read(func(fd uintptr) bool {
			n, errno = unix.Read(int(fd), p)
			return true
		}); err != nil {
			return 0, err
		}
		if n > 0 {
			o.rest -= int64(n)
			return n, nil
		}
		if errno == unix.EINTR {
			continue
		}
		left := time.Until(o.drainBy)
		if errno != unix.EAGAIN || !o.tty || left <= 0 {
			break
		}
		// A terminal hands bytes on by a kernel worker, a moment later.
		raw.Control(func(fd uintptr) {
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		})
	}
	o.rest = 0
	return 0, io.EOF
}
