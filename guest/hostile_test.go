package guest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/guest"
	"github.com/sandboxfs/sandboxfs/guest/frame"
	"github.com/sandboxfs/sandboxfs/provider"
)

// impostor answers every connection by a function: what a guest could be
// made to say by what runs in its sandbox.
func impostor(t *testing.T, answer func(net.Conn, *http.Request)) *guest.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					answer(conn, req)
				}
			}()
		}
	}()
	c := clientOf(socket, "/mnt/user-data")
	t.Cleanup(c.Close)
	return c
}

func answerJSON(body string) func(net.Conn, *http.Request) {
	return func(conn net.Conn, _ *http.Request) {
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	}
}

// call is one call of each kind, and the answers that it must refuse.
func TestHostileAnswers(t *testing.T) {
	list := func(ctx context.Context, c *guest.Client) error {
		_, err := c.ListDir(ctx, "/mnt/user-data", provider.ListOptions{})
		return err
	}
	glob := func(ctx context.Context, c *guest.Client) error {
		_, err := c.Glob(ctx, "/mnt/user-data", "**", provider.GlobOptions{})
		return err
	}
	grep := func(ctx context.Context, c *guest.Client) error {
		_, err := c.Grep(ctx, "/mnt/user-data", "x", provider.GrepOptions{})
		return err
	}
	many := func(format string, n int) string {
		return strings.Repeat(format+",", n) + format
	}
	for _, c := range []struct {
		name, body string
		call       func(context.Context, *guest.Client) error
	}{
		{"not JSON", "<html>", list},
		{"another place", `{"entries":[{"path":"/etc/passwd","type":"file"}]}`, list},
		{"a sibling", `{"entries":[{"path":"/mnt/user-data2/x","type":"file"}]}`, list},
		{"up", `{"entries":[{"path":"/mnt/user-data/../../etc","type":"file"}]}`, list},
		{"relative", `{"entries":[{"path":"x","type":"file"}]}`, list},
		{"NUL", `{"entries":[{"path":"/mnt/user-data/\u0000","type":"file"}]}`, list},
		{"raw NUL", `{"entries":[{"raw":"L21udC91c2VyLWRhdGEvAA==","type":"file"}]}`, list},
		{"type", `{"entries":[{"path":"/mnt/user-data/x","type":"<b>"}]}`, list},
		{"size", `{"entries":[{"path":"/mnt/user-data/x","type":"file","size":-1}]}`, list},
		{"glob elsewhere", `{"paths":[{"path":"/x"}]}`, glob},
		{"too many paths", `{"paths":[` + many(`{"path":"/mnt/user-data/x"}`, 1000) + `]}`, glob},
		{"grep elsewhere", `{"matches":[{"path":"/x","line":1}]}`, grep},
		{"line 0", `{"matches":[{"path":"/mnt/user-data/x","line":0}]}`, grep},
		{"long line", `{"matches":[{"path":"/mnt/user-data/x","line":1,"text":"` + strings.Repeat("x", 10000) + `"}]}`, grep},
		{"too many matches", `{"matches":[` + many(`{"path":"/mnt/user-data/x","line":1}`, 500) + `]}`, grep},
	} {
		err := c.call(limit(t), impostor(t, answerJSON(c.body)))
		if !errors.Is(err, provider.Internal) || errors.Is(err, guest.ErrNotStarted) {
			t.Errorf("%s: want internal, got %v", c.name, err)
		}
	}
}

func TestHostileContents(t *testing.T) {
	ctx := limit(t)
	read := func(c *guest.Client) error {
		_, err := c.ReadFile(ctx, "/mnt/user-data/f", provider.LineRange{})
		return err
	}
	endless := func(head string) *guest.Client {
		return impostor(t, func(conn net.Conn, _ *http.Request) {
			_, _ = io.WriteString(conn, head)
			block := make([]byte, 1<<20)
			for {
				if _, err := conn.Write(block); err != nil {
					return
				}
			}
		})
	}
	if err := read(endless("HTTP/1.1 200 OK\r\n\r\n")); !errors.Is(err, provider.Internal) {
		t.Errorf("an endless file: want internal, got %v", err)
	}
	if err := read(endless("HTTP/1.1 404 Not Found\r\n\r\n")); err == nil {
		t.Error("an endless error: want an error")
	}
	if err := read(endless("HTTP/1.1 200 OK\r\nX: ")); err == nil {
		t.Error("an endless head: want an error")
	}
	if _, err := endless("HTTP/1.1 200 OK\r\n\r\n").DownloadFile(ctx, "/mnt/user-data/f"); !errors.Is(err, provider.Internal) {
		t.Errorf("a download without its length: want internal, got %v", err)
	}
	if _, err := endless("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n").DownloadFile(ctx, "/mnt/user-data/f"); !errors.Is(err, provider.TooLarge) {
		t.Errorf("a large download: want too large, got %v", err)
	}
	short := impostor(t, func(conn net.Conn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
	})
	r, err := short.DownloadFile(ctx, "/mnt/user-data/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); !errors.Is(err, provider.Unavailable) || string(b) != "short" {
		t.Errorf("a transfer that breaks off: want an error behind %q, got %q, %v", "short", b, err)
	}
	redirect := impostor(t, func(conn net.Conn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")
	})
	if err := read(redirect); !errors.Is(err, provider.Internal) {
		t.Errorf("a redirection: want internal, got %v", err)
	}
	words := impostor(t, func(conn net.Conn, _ *http.Request) {
		body := `{"error":{"kind":"nonsense","reason":"\u001b[2Jx","next":"y"}}`
		fmt.Fprintf(conn, "HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	if err := read(words); !errors.Is(err, provider.Internal) || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("an error with control characters: got %q", err)
	}
}

const accept = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sandboxfs-exec/1\r\n\r\n"

func TestHostileCommands(t *testing.T) {
	frames := func(fs ...func(*frame.Writer)) func(net.Conn, *http.Request) {
		return func(conn net.Conn, _ *http.Request) {
			_, _ = io.WriteString(conn, accept)
			w := frame.NewWriter(conn)
			for _, f := range fs {
				f(w)
			}
		}
	}
	send := func(k frame.Type, payload string) func(*frame.Writer) {
		return func(w *frame.Writer) { _ = w.Write(k, []byte(payload)) }
	}
	flood := func(k frame.Type) func(*frame.Writer) {
		return func(w *frame.Writer) {
			for range 100 {
				if w.Write(k, make([]byte, frame.MaxPayload)) != nil {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		name       string
		answer     func(net.Conn, *http.Request)
		kind       provider.Kind
		notStarted bool
	}{
		{"gone before the 101", func(net.Conn, *http.Request) {}, provider.Unavailable, true},
		{"half a 101", func(conn net.Conn, _ *http.Request) { _, _ = io.WriteString(conn, accept[:40]) }, provider.Unavailable, true},
		{"gone behind the 101", frames(), provider.Unavailable, false},
		{"gone behind the start", frames(send(frame.Started, "")), provider.Unavailable, false},
		{"another protocol", func(conn net.Conn, _ *http.Request) {
			_, _ = io.WriteString(conn, strings.Replace(accept, "exec/1", "exec/9", 1))
		}, provider.Internal, false},
		{"no upgrade", answerJSON("{}"), provider.Internal, false},
		{"a result that is none", frames(send(frame.Started, ""), send(frame.Ended, "[")), provider.Internal, false},
		{"an error that is none", frames(send(frame.Failed, "[")), provider.Internal, false},
		{"more than the bound", frames(send(frame.Started, ""), flood(frame.StdoutHead)), provider.Internal, false},
		{"live in place of captured", frames(send(frame.Started, ""), flood(frame.Stderr)), provider.Internal, false},
		{"no frames", func(conn net.Conn, _ *http.Request) { _, _ = io.WriteString(conn, accept+strings.Repeat("x", 100)) }, provider.Unavailable, false},
		{"ending", func(conn net.Conn, _ *http.Request) {
			body := `{"error":{"kind":"unavailable","not_started":true}}`
			fmt.Fprintf(conn, "HTTP/1.1 503 X\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}, provider.Unavailable, true},
	} {
		_, err := impostor(t, c.answer).Execute(limit(t), provider.Command{Script: ":"})
		if !errors.Is(err, c.kind) || errors.Is(err, guest.ErrNotStarted) != c.notStarted {
			t.Errorf("%s: want %s, not started %v, got %v", c.name, c.kind, c.notStarted, err)
		}
	}
	odd := frames(send(frame.Started, ""), send(frame.Window, "xxxx"), send(frame.Window, "\xff\xff\xff\xff"), send('?', "unknown"), send(frame.Ping, ""), send(frame.StdoutHead, "x"), send(frame.Ended, `{"exit_code":-1,"signal":-3,"duration_ns":-5,"left_running":-1,"stdout_omitted":-9}`))
	res, err := impostor(t, odd).Execute(limit(t), provider.Command{Script: ":", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))})
	if err != nil || res.ExitCode != 255 || res.Signal != 0 || res.Duration != 0 || res.LeftRunning != 0 || res.Stdout.Omitted != 0 || string(res.Stdout.Head) != "x" {
		t.Errorf("odd numbers: got %+v, %v", res, err)
	}
}

// TestSilentGuest demands that the end of a context is enough, whatever a
// guest does not say.
func TestSilentGuest(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "half a head": "HTTP/1.1 101 Swi", "a 101 alone": accept, "started": accept + "S\x00\x00\x00\x00"} {
		c := impostor(t, func(conn net.Conn, _ *http.Request) {
			_, _ = io.WriteString(conn, text)
			_, _ = io.Copy(io.Discard, conn)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		start := time.Now()
		_, err := c.Execute(ctx, provider.Command{Script: ":"})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, provider.Timeout) {
			t.Errorf("%s: want timeout, got %v", name, err)
		}
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("%s: it took %v", name, d)
		}
	}
}
