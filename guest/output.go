package guest

import (
	"io"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/guest/frame"
	"github.com/sandboxfs/sandboxfs/provider"
)

// capture bounds one stream of a command in the guest. What is over the
// bound never crosses the wire.
type capture struct {
	bounded *exec.HeadTail // captured: sent at the end
	live    io.Writer      // live, with a bound or without
	closer  io.Closer      // of a live one with a bound
}

// captures makes those of both streams.
func (s *stream) captures() (stdout, stderr *capture) {
	return s.capture(s.wire.CaptureStdout, frame.Stdout), s.capture(s.wire.CaptureStderr, frame.Stderr)
}

func (s *stream) capture(captured bool, t frame.Type) *capture {
	most := s.wire.MaxOutput
	switch {
	case captured && most >= 0:
		if most == 0 {
			most = provider.DefaultMaxOutput
		}
		return &capture{bounded: exec.NewHeadTail(most)}
	case most > 0:
		l := exec.NewLimited(frameWriter{s, t}, most)
		return &capture{live: l, closer: l}
	}
	return &capture{live: frameWriter{s, t}}
}

// frameWriter sends what is written to it.
type frameWriter struct {
	s *stream
	t frame.Type
}

func (w frameWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), frame.MaxPayload)
		if err := w.s.send(w.t, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// pump reads a stream to its end. When the client is gone it reads on and
// drops, so that the command is not stopped by a full pipe before it is
// ended.
func (s *stream) pump(r io.Reader, c *capture) {
	var w io.Writer = c.live
	if c.bounded != nil {
		w = c.bounded
	}
	buf := make([]byte, pumpBlock)
	for {
		n, err := r.Read(buf)
		if n > 0 && w != nil {
			if _, werr := w.Write(buf[:n]); werr != nil {
				w = nil
			}
		}
		if err != nil {
			break
		}
	}
	if c.closer != nil && w != nil {
		_ = c.closer.Close()
	}
}

// pumpBlock is how much is read from a command at once: what a pipe holds.
const pumpBlock = 64 << 10

// sendCapture sends a captured stream and returns the number of bytes left
// out.
func (s *stream) sendCapture(c *capture, head, tail frame.Type) int64 {
	if c.bounded == nil {
		return 0
	}
	s.sendAll(head, c.bounded.Head())
	s.sendAll(tail, c.bounded.Tail())
	return c.bounded.Omitted()
}
