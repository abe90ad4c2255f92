package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/guest/frame"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// termGrace is the time between SIGTERM and the end of the tree.
const termGrace = 2 * time.Second

// stream is the server's half of one command's connection.
type stream struct {
	counted func() // takes the command off the count of running ones
	server  *server
	conn    net.Conn
	in      *bufio.Reader
	wire    *wireCommand
	timeout time.Duration

	mu   sync.Mutex // guards out and sent
	out  *frame.Writer
	sent time.Time

	proc  process
	stdin *stdinQueue
	over  atomic.Bool    // the tree is gone
	alone atomic.Bool    // nobody waits for the result: the client has given up, or hung up
	work  sync.WaitGroup // everything but run itself
	done  chan struct{}  // closed when the result is sent

	endMu    sync.Mutex // guards what follows, and the change of over
	ending   bool
	timedOut bool
}

func newStream(s *server, conn net.Conn, in *bufio.Reader, wire *wireCommand, timeout time.Duration) *stream {
	return &stream{server: s, conn: conn, in: in, wire: wire, timeout: timeout, out: frame.NewWriter(conn), sent: time.Now(), done: make(chan struct{})}
}

// send writes one frame. It waits as long as a living client does not read:
// that is the command's backpressure.
func (s *stream) send(t frame.Type, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = time.Now()
	return s.out.Write(t, payload)
}

// sendAll sends data of any length.
func (s *stream) sendAll(t frame.Type, data []byte) {
	for len(data) > 0 {
		n := min(len(data), frame.MaxPayload)
		if s.send(t, data[:n]) != nil {
			return
		}
		data = data[n:]
	}
}

// sendJSON sends one of the two last frames.
func (s *stream) sendJSON(t frame.Type, body any) error {
	b, err := json.Marshal(body)
	if err != nil || len(b) > frame.MaxPayload {
		s.server.log.WithFields(logrus.Fields{"op": opExecute, "error": err}).Error("a result cannot be encoded")
		t, b = frame.Failed, []byte(`{"kind":"internal"}`)
	}
	return s.send(t, b)
}

// run starts the command and sees it to its end.
func (s *stream) run(ctx context.Context, start func(context.Context) (process, error)) {
	p, err := start(ctx)
	if err != nil {
		s.fail(err)
		return
	}
	s.proc = p
	if s.send(frame.Started, nil) != nil {
		s.end()
	}
	stdout, stderr := s.captures()
	s.stdin = newStdinQueue(s.wire.Stdin || s.wire.TTY != nil)

	var outputs sync.WaitGroup
	outputs.Go(func() { s.pump(p.stdout(), stdout) })
	if r := p.stderr(); r != nil && s.wire.TTY == nil {
		outputs.Go(func() { s.pump(r, stderr) })
	}
	s.work.Go(s.readClient)
	s.work.Go(s.feed)
	s.work.Go(s.ping)
	stopWatch := context.AfterFunc(ctx, s.end) // the guest is ending
	if s.timeout > 0 {
		timer := time.AfterFunc(s.timeout, s.endByTimeout)
		defer timer.Stop()
	}

	status, err := p.wait()
	timedOut := s.treeGone()
	outputs.Wait()
	stopWatch()
	s.finish(status, err, timedOut, stdout, stderr)
}

// finish sends what is left to say and lets go of everything. Whoever has read
// the result finds the command counted no more.
func (s *stream) finish(status exec.Status, err error, timedOut bool, stdout, stderr *capture) {
	s.counted()
	if err != nil {
		s.server.log.WithFields(logrus.Fields{"op": opExecute, "error": err}).Error("a command was lost")
		s.sendJSON(frame.Failed, toWire(&provider.Error{Kind: provider.Internal, Op: opExecute, Reason: "the command was lost while it ran", Next: "look at what it did before running it again"}))
	} else {
		res := wireResult{ExitCode: status.ExitCode, Signal: status.Signal, TimedOut: timedOut, LeftRunning: status.LeftRunning, DurationNS: int64(status.Duration)}
		p, inSession := s.proc.(interface {
			session() *provider.SessionChange
			untold()
		})
		if inSession {
			res.Session = p.session()
		}
		if timedOut {
			res.ExitCode = provider.ExitTimeout
		}
		res.StdoutOmitted = s.sendCapture(stdout, frame.StdoutHead, frame.StdoutTail)
		res.StderrOmitted = s.sendCapture(stderr, frame.StderrHead, frame.StderrTail)
		alone := s.alone.Load() // before a client that has read the result hangs up
		if err := s.sendJSON(frame.Ended, res); inSession && (err != nil || alone) {
			p.untold()
		}
	}
	close(s.done)
	s.stdin.close()
	if w := s.proc.stdin(); w != nil {
		w.Close()
	}
	s.hangUp()
	s.proc.stdout().Close()
	if r := s.proc.stderr(); r != nil {
		r.Close()
	}
	s.work.Wait()
}

// hangUp ends the connection so that the last frame is not lost: bytes of the
// client's that nobody read would make a TCP connection reset.
func (s *stream) hangUp() {
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		_ = s.conn.SetReadDeadline(time.Now().Add(time.Second))
		return // readClient ends with the client's EOF or the deadline
	}
	s.conn.Close()
}

// fail answers for a command that did not start.
func (s *stream) fail(err error) {
	res, line, failed := notStarted(err)
	if failed != nil {
		s.server.logInternal(failed)
		s.sendJSON(frame.Failed, toWire(failed))
		return
	}
	to := frame.Stderr
	switch {
	case s.wire.TTY != nil && s.wire.CaptureStdout:
		to = frame.StdoutHead
	case s.wire.TTY != nil:
		to = frame.Stdout
	case s.wire.CaptureStderr:
		to = frame.StderrHead
	}
	s.sendAll(to, []byte(line))
	s.sendJSON(frame.Ended, res)
}

// end ends the command's tree, once, and returns at once.
func (s *stream) end() {
	s.endMu.Lock()
	defer s.endMu.Unlock()
	s.endLocked()
}

func (s *stream) endByTimeout() {
	s.endMu.Lock()
	defer s.endMu.Unlock()
	if s.endLocked() {
		s.timedOut = true
	}
}

// endLocked reports whether it is the one that ended the command.
func (s *stream) endLocked() bool {
	if s.ending || s.over.Load() {
		return false
	}
	s.ending = true
	s.work.Go(func() { s.proc.terminate(termGrace) })
	return true
}

// treeGone notes that there is nothing left to end, and says whether it was
// the timeout that ended it.
func (s *stream) treeGone() (timedOut bool) {
	s.endMu.Lock()
	defer s.endMu.Unlock()
	s.over.Store(true)
	return s.timedOut
}

// readClient obeys the client until it hangs up, which ends the command.
func (s *stream) readClient() {
	r := frame.NewReader(s.in)
	for {
		t, payload, err := r.Read()
		if err != nil {
			break
		}
		switch t {
		case frame.Stdin:
			if !s.stdin.add(payload) {
				s.server.log.WithField("op", opExecute).Warn("a client sent more stdin than it may")
				s.conn.Close()
			}
		case frame.StdinEOF:
			s.stdin.end()
		case frame.Signal:
			if n, ok := frame.Number(payload); ok && n > 0 && n <= maxSignal && !s.over.Load() {
				_ = s.proc.signal(unix.Signal(n)) // it may have ended already
			}
		case frame.Resize:
			if rows, cols, ok := frame.Size(payload); ok && s.wire.TTY != nil {
				_ = s.proc.resize(exec.Size{Rows: rows, Cols: cols})
			}
		case frame.Cancel:
			s.alone.Store(true)
			s.end()
		}
	}
	select {
	case <-s.done:
	default:
		s.alone.Store(true)
		s.end()
		s.stdin.end()
	}
	s.conn.Close() // whoever still writes to it stops
}

// maxSignal is the greatest signal number of Linux (signal(7)).
const maxSignal = 64

// feed moves stdin to the command and lets the client send more.
func (s *stream) feed() {
	w := s.proc.stdin()
	for {
		data, eof := s.stdin.next()
		if len(data) > 0 {
			if w != nil {
				// A command that does not want it ends our writing, not
				// the client's: what it sends is dropped from now on.
				if _, err := w.Write(data); err != nil {
					w = nil
				}
			}
			s.stdin.delivered()
			if s.send(frame.Window, frame.PutNumber(uint32(len(data)))) != nil {
				return
			}
			continue
		}
		if eof {
			if w != nil {
				w.Close()
			}
			return
		}
	}
}

// ping tells the client that a quiet command's guest lives.
func (s *stream) ping() {
	t := time.NewTicker(pingEvery / 2)
	defer t.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-t.C:
		}
		s.mu.Lock()
		quiet := time.Since(s.sent) >= pingEvery/2
		s.mu.Unlock()
		if quiet && s.send(frame.Ping, nil) != nil {
			return
		}
	}
}
