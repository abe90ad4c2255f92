package shell

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// stream is one command's output: a FIFO of its own. While the command runs it
// reads like a pipe; afterwards it gives what was in it at the end, and then end
// of file, though a background job may go on writing to it. What comes later is
// read and dropped until the last writer is gone, so that the job neither waits
// nor dies of it.
type stream struct {
	f    *os.File
	hold *os.File // our own writing end: without it there were no end to tell from a beginning

	over atomic.Bool
	once sync.Once

	mu    sync.Mutex // guards what follows, once it is over
	rest  int        // bytes still to be given
	awake bool       // the deadline that woke readers is taken off
}

// newStream makes the FIFO with a name.
func newStream(p *private, name string) (*stream, error) {
	f, err := p.fifo(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	hold, err := p.open(name, unix.O_WRONLY)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &stream{f: f, hold: hold}, nil
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for !s.over.Load() {
		n, err := s.f.Read(p)
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest <= 0 {
		return 0, io.EOF
	}
	s.wakeLocked()
	p = p[:min(len(p), s.rest)]
	n, err := s.f.Read(p)
	s.rest -= n
	if n == 0 {
		s.rest = 0
		return 0, io.EOF
	}
	if err != nil {
		s.rest = 0
	}
	return n, nil
}

// finish is called when the command has ended.
func (s *stream) finish() {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if raw, err := s.f.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { s.rest, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		}
		s.over.Store(true)
		s.f.SetReadDeadline(time.Unix(1, 0)) // wakes a reader
		s.hold.Close()
	})
}

// Close ends the reading. Whoever still writes is read on, by nobody's leave.
func (s *stream) Close() error {
	s.finish()
	s.mu.Lock()
	s.rest = 0
	s.wakeLocked()
	s.mu.Unlock()
	go func() {
		_, _ = io.Copy(io.Discard, s.f)
		s.f.Close()
	}()
	return nil
}

func (s *stream) wakeLocked() {
	if !s.awake {
		s.awake = true
		s.f.SetReadDeadline(time.Time{})
	}
}
