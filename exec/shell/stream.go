package shell

import (
	"errors"
	"io"
	"os"
	"sync"
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

	once sync.Once

	// mu is held over each read of the FIFO, none of which waits, so that what
	// is in it at the end is given whole and nothing that comes after.
	mu   sync.Mutex
	over bool
	rest int // bytes still to be given, once it is over
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
func (s *stream) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	raw, err := s.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var readErr error
	take := func(fd uintptr) bool {
		n, readErr = s.take(int(fd), p)
		return !errors.Is(readErr, unix.EAGAIN)
	}
	err = raw.Read(take)
	if errors.Is(err, os.ErrDeadlineExceeded) { // it is over
		err = raw.Control(func(fd uintptr) { take(fd) })
	}
	if err == nil {
		err = readErr
	}
	return n, err
}

// take reads what is there. It does not wait.
func (s *stream) take(fd int, p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		p = p[:min(len(p), s.rest)]
	}
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := unix.Read(fd, p)
	for err == unix.EINTR {
		n, err = unix.Read(fd, p)
	}
	switch {
	case n > 0:
		if s.over {
			s.rest -= n
		}
		return n, nil
	case n == 0, s.over:
		s.rest = 0
		return 0, io.EOF
	}
	return 0, err
}

// finish is called when the command has ended.
func (s *stream) finish() {
	s.once.Do(func() {
		if raw, err := s.f.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.rest, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
				s.over = true
			})
		}
		s.f.SetReadDeadline(time.Unix(1, 0)) // wakes a reader
		s.hold.Close()
	})
}

// Close ends the reading. Whoever still writes is read on, by nobody's leave.
func (s *stream) Close() error {
	s.finish()
	s.mu.Lock()
	s.rest = 0
	s.mu.Unlock()
	s.f.SetReadDeadline(time.Time{})
	go func() {
		_, _ = io.Copy(io.Discard, s.f)
		s.f.Close()
	}()
	return nil
}
