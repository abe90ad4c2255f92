package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/sandboxfs/sandboxfs/guest/frame"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Execute implements [provider.Sandbox]. Both streams are bounded in the
// guest. An end of ctx ends the command's tree.
func (c *Client) Execute(ctx context.Context, cmd provider.Command) (*provider.Result, error) {
	cmd.Stdout, cmd.Stderr = nil, nil
	p, err := c.start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return p.Wait()
}

// Start implements [provider.Starter]. Stdin is read only when the command
// has started, and read on, at most one block, when the command has ended.
func (c *Client) Start(ctx context.Context, cmd provider.Command) (provider.Process, error) {
	p, err := c.start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (c *Client) start(ctx context.Context, cmd provider.Command) (*clientProcess, error) {
	if err := cmd.Validate(); err != nil {
		return nil, c.named(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, c.given(opExecute, "", err)
	}
	wire := toWireCommand(cmd)
	if cmd.Session != "" {
		wire.SessionEnv = toWireEnv(c.o.SessionEnv)
	}
	// Without a bound the guest would have to hold it all: it comes live, and
	// is held here.
	bounded := cmd.MaxOutput >= 0
	wire.CaptureStdout = cmd.Stdout == nil && bounded
	wire.CaptureStderr = cmd.Stderr == nil && bounded
	body, err := json.Marshal(wire)
	if err != nil || len(body) > maxCommand {
		return nil, c.fail(opExecute, "", provider.TooLarge, "the command is more than 16 MiB", "put large data into a file", err)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, c.fail(opExecute, "", provider.Unavailable, "the sandbox does not answer", "acquire it again", err)
	}
	// From here the end of ctx must not be missed by a read or a write.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	in, err := c.upgradeConn(conn, body)
	if inTime := stop(); err != nil || !inTime {
		conn.Close()
		if cause := ctx.Err(); cause != nil {
			return nil, c.given(opExecute, "", cause)
		}
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	p := newClientProcess(c, conn, in, cmd, wire)
	if err := p.awaitStart(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	p.begin(ctx)
	return p, nil
}

// upgradeConn sends the command and waits for the 101.
func (c *Client) upgradeConn(conn net.Conn, body []byte) (*bufio.Reader, error) {
	_ = conn.SetDeadline(time.Now().Add(silenceLimit))
	var req bytes.Buffer
	fmt.Fprintf(&req, "POST %s HTTP/1.1\r\nHost: sandbox\r\nConnection: Upgrade\r\nUpgrade: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", routeExec, execProtocol, len(body))
	req.Write(body)
	notStarted := func(err error) error {
		return c.fail(opExecute, "", provider.Unavailable, "the sandbox ended before the command started", "acquire it again", errors.Join(err, ErrNotStarted))
	}
	_, werr := conn.Write(req.Bytes())
	// A guest that refuses may do so before it has read everything.
	in := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return nil, notStarted(errors.Join(werr, err))
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if resp.Header.Get("Upgrade") != execProtocol {
			return nil, c.strange(opExecute, "", "another protocol", nil)
		}
		return in, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return nil, notStarted(err)
	}
	if w := decodeError(text); w != nil {
		return nil, w.fromWire(opExecute, c.o.Thread, "")
	}
	return nil, c.fail(opExecute, "", provider.KindOfHTTPStatus(resp.StatusCode), "the sandbox answered "+resp.Status, "look whether it runs a guest of another version", nil)
}

// failed makes the error of a Failed frame.
func (c *Client) failed(payload []byte) error {
	var w wireError
	if err := json.Unmarshal(payload, &w); err != nil {
		return c.strange(opExecute, "", "an answer that cannot be read", err)
	}
	return w.fromWire(opExecute, c.o.Thread, "")
}

// awaitStart reads the first frame. A command that could not be found or
// executed has a result at once, and is started in so far.
func (p *clientProcess) awaitStart(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	t, payload, err := p.read()
	for err == nil && t == frame.Ping { // it waits for its session's turn
		t, payload, err = p.read()
	}
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			return p.c.given(opExecute, "", cause)
		}
		return p.c.fail(opExecute, "", provider.Unavailable, "the sandbox ended while it started the command, which may have run", "look before repeating it", err)
	}
	switch t {
	case frame.Started:
		return nil
	case frame.Failed:
		return p.c.failed(payload)
	default:
		p.early = &earlyFrame{t, bytes.Clone(payload)}
		return nil
	}
}

// earlyFrame is a frame that came in place of Started.
type earlyFrame struct {
	t       frame.Type
	payload []byte
}
