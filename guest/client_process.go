package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/guest/frame"
	"github.com/sandboxfs/sandboxfs/provider"
)

// cancelLimit is how long the client waits for a cancelled command's end:
// the guest gives its group termGrace.
const cancelLimit = 6 * time.Second

// clientProcess is a running command, seen from the host.
type clientProcess struct {
	c      *Client
	conn   net.Conn
	frames *frame.Reader
	cmd    provider.Command
	wire   *wireCommand
	early  *earlyFrame

	outMu sync.Mutex // guards out
	out   *frame.Writer

	window *window
	gone   chan struct{} // closed when the frames have ended
	end    sync.Once

	ctx       context.Context //nolint:containedctx // the command ends with it
	cancelled func() bool     // stops watching ctx

	stdout, stderr clientStream
	writeErr       error // the first error of a caller's writer

	result *provider.Result
	err    error
	done   chan struct{} // closed when result and err are final
}

// clientStream is where one stream of the command goes.
type clientStream struct {
	live       io.Writer
	head, tail bytes.Buffer
	bound      int64 // of head and tail together; negative means none
}

func newClientProcess(c *Client, conn net.Conn, in *bufio.Reader, cmd provider.Command, wire *wireCommand) *clientProcess {
	bound := cmd.MaxOutput
	if bound == 0 {
		bound = provider.DefaultMaxOutput
	}
	p := &clientProcess{
		c: c, conn: conn, frames: frame.NewReader(in), cmd: cmd, wire: wire, out: frame.NewWriter(conn),
		window: newWindow(stdinWindow), gone: make(chan struct{}), done: make(chan struct{}),
	}
	p.stdout = clientStream{live: cmd.Stdout, bound: bound}
	p.stderr = clientStream{live: cmd.Stderr, bound: bound}
	return p
}

// begin reads the frames and feeds stdin in the background.
func (p *clientProcess) begin(ctx context.Context) {
	p.ctx = ctx
	p.cancelled = context.AfterFunc(ctx, p.cancel)
	if p.cmd.Stdin != nil {
		go p.feed() // ends with the connection, or with a read of the caller's
	}
	go func() {
		defer close(p.done)
		p.result, p.err = p.run()
		close(p.gone)
		p.cancelled()
		p.window.close()
		p.conn.Close()
	}()
}

// Wait implements [provider.Process].
func (p *clientProcess) Wait() (*provider.Result, error) {
	<-p.done
	return p.result, p.err
}

// read returns the next frame; a guest that is silent for too long counts as
// dead. While a caller's writer takes its time nothing is awaited.
func (p *clientProcess) read() (frame.Type, []byte, error) {
	if p.ctx == nil || p.ctx.Err() == nil {
		_ = p.conn.SetReadDeadline(time.Now().Add(silenceLimit))
	}
	return p.frames.Read()
}

// run takes the frames to the last one.
func (p *clientProcess) run() (*provider.Result, error) {
	for {
		var (
			t       frame.Type
			payload []byte
			err     error
		)
		if p.early != nil {
			t, payload, p.early = p.early.t, p.early.payload, nil
		} else if t, payload, err = p.read(); err != nil {
			return nil, p.lost(err)
		}
		switch t {
		case frame.Stdout:
			err = p.stdout.add(&p.stdout.head, payload, p)
		case frame.Stderr:
			err = p.stderr.add(&p.stderr.head, payload, p)
		case frame.StdoutHead:
			err = p.stdout.add(&p.stdout.head, payload, p)
		case frame.StdoutTail:
			err = p.stdout.add(&p.stdout.tail, payload, p)
		case frame.StderrHead:
			err = p.stderr.add(&p.stderr.head, payload, p)
		case frame.StderrTail:
			err = p.stderr.add(&p.stderr.tail, payload, p)
		case frame.Window:
			if n, ok := frame.Number(payload); ok {
				p.window.grant(int64(n))
			}
		case frame.Ended:
			return p.ended(payload)
		case frame.Failed:
			return nil, p.c.failed(payload)
		}
		if err != nil {
			return nil, err
		}
	}
}

// add takes data of a stream. A caller's writer that fails ends the command.
func (s *clientStream) add(to *bytes.Buffer, data []byte, p *clientProcess) error {
	if s.live != nil {
		if p.writeErr != nil {
			return nil
		}
		if _, err := s.live.Write(data); err != nil {
			p.writeErr = err
			p.cancel()
		}
		return nil
	}
	if s.bound >= 0 && int64(s.head.Len()+s.tail.Len()+len(data)) > s.bound {
		return p.c.strange(opExecute, "", "more output than it was asked for", nil)
	}
	to.Write(data)
	return nil
}

// ended makes the result.
func (p *clientProcess) ended(payload []byte) (*provider.Result, error) {
	var w wireResult
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, p.c.strange(opExecute, "", "a result that cannot be read", err)
	}
	if cause := p.ctx.Err(); cause != nil {
		return nil, p.c.given(opExecute, "", cause)
	}
	if p.writeErr != nil {
		return nil, p.c.fail(opExecute, "", provider.Unavailable, "the command's output could not be written, so it was ended", "", p.writeErr)
	}
	return &provider.Result{
		ExitCode: w.ExitCode & 0xff, Signal: max(w.Signal, 0), TimedOut: w.TimedOut, LeftRunning: max(w.LeftRunning, 0), Duration: max(time.Duration(w.DurationNS), 0), Session: change(w.Session),
		Stdout: p.stdout.output(w.StdoutOmitted), Stderr: p.stderr.output(w.StderrOmitted),
	}, nil
}

func (s *clientStream) output(omitted int64) provider.Output {
	if s.live != nil {
		return provider.Output{}
	}
	return provider.Output{Head: s.head.Bytes(), Tail: s.tail.Bytes(), Omitted: max(omitted, 0)}
}

// lost makes the error of a stream that broke off: the command had started,
// so it is never to be repeated unseen.
func (p *clientProcess) lost(err error) error {
	if cause := p.ctx.Err(); cause != nil {
		return p.c.given(opExecute, "", cause)
	}
	reason := "the sandbox ended while the command ran"
	if e, ok := err.(net.Error); ok && e.Timeout() { //nolint:errorlint // from the connection itself
		reason = "the sandbox does not answer any more while the command runs"
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "the connection to the sandbox broke while the command ran"
	}
	return p.c.fail(opExecute, "", provider.Unavailable, reason, "look at what the command did before running it again", err)
}

// cancel asks the guest to end the command, and gives it some time for it.
func (p *clientProcess) cancel() {
	p.end.Do(func() {
		_ = p.send(frame.Cancel, nil)
		_ = p.conn.SetReadDeadline(time.Now().Add(cancelLimit))
	})
}

// send writes one frame. The guest always reads, so a write that lasts means
// that it is dead.
func (p *clientProcess) send(t frame.Type, payload []byte) error {
	p.outMu.Lock()
	defer p.outMu.Unlock()
	_ = p.conn.SetWriteDeadline(time.Now().Add(silenceLimit))
	return p.out.Write(t, payload)
}

// Signal implements [provider.Process].
func (p *clientProcess) Signal(number int) error {
	if number < 1 || number > maxSignal {
		return p.c.fail("signal", "", provider.Invalid, "there is no such signal", "give a number from 1 to 64", nil)
	}
	return p.control("signal", frame.Signal, frame.PutNumber(uint32(number)))
}

// Resize implements [provider.Process].
func (p *clientProcess) Resize(rows, cols uint16) error {
	if p.cmd.TTY == nil {
		return p.c.fail("resize", "", provider.Invalid, "the command has no terminal", "start it with a TTY", nil)
	}
	return p.control("resize", frame.Resize, frame.PutSize(rows, cols))
}

func (p *clientProcess) control(op string, t frame.Type, payload []byte) error {
	select {
	case <-p.gone:
		return p.c.fail(op, "", provider.NotFound, "the command has ended", "", nil)
	default:
	}
	if err := p.send(t, payload); err != nil {
		return p.c.fail(op, "", provider.Unavailable, "the sandbox does not answer", "", err)
	}
	return nil
}

// feed sends the caller's stdin as the guest takes it.
func (p *clientProcess) feed() {
	buf := make([]byte, 32<<10)
	for {
		room := p.window.wait(int64(len(buf)))
		if room == 0 {
			return
		}
		n, err := p.cmd.Stdin.Read(buf[:room])
		if n > 0 {
			p.window.take(int64(n))
			if p.send(frame.Stdin, buf[:n]) != nil {
				return
			}
		}
		if err != nil {
			_ = p.send(frame.StdinEOF, nil)
			return
		}
	}
}
