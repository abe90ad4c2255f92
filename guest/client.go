package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// ClientOptions configure a client. Dial is required.
type ClientOptions struct {
	// ID and Thread are what the provider calls the sandbox; errors name the
	// thread.
	ID, Thread string
	// Dial connects to the guest. Its errors mean that nothing started.
	Dial func(context.Context) (net.Conn, error)
	// SessionEnv is added to the environment of each session that a command of
	// this client makes. The names are POSIX names.
	SessionEnv map[string]string
	// DownloadRoot is the directory below which downloads are allowed; empty
	// means /mnt/user-data.
	DownloadRoot string
}

// Client is a sandbox, seen through its guest. All methods are safe for
// concurrent use.
type Client struct {
	o    ClientOptions
	http *http.Client
}

var (
	_ provider.Sandbox   = (*Client)(nil)
	_ provider.Starter   = (*Client)(nil)
	_ provider.Describer = (*Client)(nil)
	_ provider.Sessioner = (*Client)(nil)
	_ provider.JobKeeper = (*Client)(nil)
)

// Deadlines of the calls that are not commands.
const (
	dialLimit = 10 * time.Second
	// answerLimit is how long a file call may take to begin its answer; a
	// search ends itself before.
	answerLimit = 150 * time.Second
	// idleConn is how long a connection is kept for the next call: less than
	// the server keeps it.
	idleConn = time.Minute
)

// NewClient returns a client. It connects when it is first used. Proxies of
// the environment are not used.
func NewClient(o ClientOptions) *Client {
	if o.DownloadRoot == "" {
		o.DownloadRoot = mapping.UserData
	}
	c := &Client{o: o}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
		Proxy:                  nil,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        idleConn,
		ResponseHeaderTimeout:  answerLimit,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// ID returns the sandbox's id.
func (c *Client) ID() string { return c.o.ID }

// Close lets go of connections that are kept for later. Calls under way go
// on, and the client can be used further.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// dialError tells a guest that nobody could connect to from one that broke
// off.
type dialError struct{ err error }

func (e *dialError) Error() string   { return "connect to the guest: " + e.err.Error() }
func (e *dialError) Unwrap() []error { return []error{e.err, ErrNotStarted} }

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := c.o.Dial(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	return conn, nil
}

// baseURL has a host because HTTP wants one; Dial decides where it goes.
const baseURL = "http://sandbox"

// call is one request of a kind that is not a command.
type call struct {
	op, path string
	method   string
	route    string
	query    url.Values
	body     []byte
	// repeatable says that the call changes nothing, so that a broken
	// connection may be answered by another guest.
	repeatable bool
}

// send makes the request and returns an answer with status 200, whose body
// the caller closes.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	u := baseURL + k.route
	if len(k.query) > 0 {
		u += "?" + k.query.Encode()
	}
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, u, body)
	if err != nil {
		return nil, c.fail(k.op, k.path, provider.Invalid, "the request cannot be made", "", err)
	}
	if !k.repeatable {
		// Without this net/http repeats a request on a connection that broke
		// before the answer, if it could rewind the body.
		req.GetBody = nil
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, k, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return nil, c.broken(ctx, k, err)
	}
	if w := decodeError(text); w != nil {
		return nil, w.fromWire(k.op, c.o.Thread, k.path)
	}
	return nil, c.fail(k.op, k.path, provider.KindOfHTTPStatus(resp.StatusCode), "the sandbox answered "+resp.Status, "look whether it runs a guest of another version", nil)
}

// maxErrorBody bounds the body of an answer that is an error.
const maxErrorBody = 64 << 10

// get makes a request and decodes its JSON answer, of at most maxAnswer
// bytes.
func (c *Client) get(ctx context.Context, k call, out any) error {
	resp, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return c.broken(ctx, k, err)
	}
	if len(body) > maxAnswer {
		return c.strange(k.op, k.path, "an answer that is too long", nil)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return c.strange(k.op, k.path, "an answer that cannot be read", err)
	}
	return nil
}

// broken makes the error of a call whose connection failed.
func (c *Client) broken(ctx context.Context, k call, err error) error {
	if cause := ctx.Err(); cause != nil {
		return c.given(k.op, k.path, cause)
	}
	var dial *dialError
	switch {
	case errors.As(err, &dial):
		return c.fail(k.op, k.path, provider.Unavailable, "the sandbox does not answer", "acquire it again", err)
	case k.repeatable:
		return c.fail(k.op, k.path, provider.Unavailable, "the sandbox broke off the call", "acquire it again", errors.Join(err, ErrNotStarted))
	}
	return c.fail(k.op, k.path, provider.Unavailable, "the sandbox broke off the call, which may have had its effect", "look before repeating it", err)
}

// given makes the error of a call that its caller gave up.
func (c *Client) given(op, path string, cause error) error {
	e := provider.FromErrno(op, path, cause)
	e.Thread = c.o.Thread
	return e
}

// strange makes the error of an answer that no guest of ours gives.
func (c *Client) strange(op, path, what string, err error) error {
	return c.fail(op, path, provider.Internal, "the sandbox gave "+what, "end it with sandboxfs stop; what runs in it may have taken it over", err)
}

func (c *Client) fail(op, path string, kind provider.Kind, reason, next string, err error) error {
	return &provider.Error{Kind: kind, Op: op, Thread: c.o.Thread, Path: path, Reason: reason, Next: next, Err: err}
}
