package guest

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
)

// scripted is a launcher that does what a test says.
type scripted func(context.Context, exec.Command) (process, error)

func (s scripted) start(ctx context.Context, c exec.Command) (process, error) { return s(ctx, c) }

func serveScripted(t *testing.T, l launcher, log logrus.FieldLogger) *Client {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, ln, ServerOptions{Workdir: dir, Log: log}, l) }()
	c := NewClient(ClientOptions{DownloadRoot: dir, Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}})
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return c
}

// TestPanic demands that one call's fault is its own.
func TestPanic(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	c := serveScripted(t, scripted(func(context.Context, exec.Command) (process, error) { panic("a fault") }), log)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Execute(ctx, provider.Command{Script: ":"}); !errors.Is(err, provider.Unavailable) || errors.Is(err, ErrNotStarted) {
		t.Errorf("want unavailable, got %v", err)
	}
	if _, err := c.Describe(ctx); err != nil {
		t.Errorf("the next call: %v", err)
	}
	// The connection ends before the line is written.
	testenv.Poll(t, 20*time.Second, "the log to have it", func() bool {
		return slices.ContainsFunc(hook.AllEntries(), func(e *logrus.Entry) bool { return e.Data["panic"] == "a fault" })
	})
}

// TestStartErrors demands the right answer for each reason.
func TestStartErrors(t *testing.T) {
	for reason, want := range map[exec.Reason]struct {
		code int
		kind provider.Kind
	}{
		exec.NotFound: {127, ""}, exec.NotExecutable: {126, ""}, exec.TooLong: {126, ""},
		exec.BadDir: {0, provider.Invalid}, exec.Invalid: {0, provider.Invalid}, exec.NoResources: {0, provider.Unavailable}, exec.Failed: {0, provider.Internal},
	} {
		c := serveScripted(t, scripted(func(context.Context, exec.Command) (process, error) {
			return nil, &exec.StartError{Reason: reason, Path: "/x"}
		}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		res, err := c.Execute(ctx, provider.Command{Argv: []string{"x"}})
		cancel()
		if provider.KindOf(err) != want.kind || err == nil && (res.ExitCode != want.code || !strings.Contains(string(res.Stderr.Head), "/x")) {
			t.Errorf("reason %d: want %+v, got %+v, %v", reason, want, res, err)
		}
	}
}

func TestEnvironmentOptions(t *testing.T) {
	e := baseEnvironment(ServerOptions{Home: "/h", Env: map[string]string{"BASH_ENV": "x", "ENV": "x", "PATH": "/p", "PAGER": "less", "K": "v"}})
	got := strings.Join(e.of(provider.Command{Script: ":", Env: map[string]string{"K": "caller", "BASH_ENV": "y", "ENV": "y"}}), "\n") + "\n"
	for _, want := range []string{"PATH=/p\n", "PAGER=less\n", "K=caller\n", "ENV=y\n", "HOME=/h\n", "TERM=dumb\n", "GIT_PAGER=cat\n"} {
		if !strings.Contains("\n"+got, "\n"+want) {
			t.Errorf("want %q in %q", want, got)
		}
	}
	if strings.Contains(got, "BASH_ENV") {
		t.Error("BASH_ENV is set for a script")
	}
	tty := strings.Join(e.of(provider.Command{Script: ":", TTY: &provider.TTY{}}), "\n")
	if !strings.Contains(tty, "TERM=xterm-256color") || strings.Contains(tty, "GIT_PAGER") || strings.Contains(tty, "EDITOR") {
		t.Errorf("a terminal's environment: %q", tty)
	}
}

func TestStdinQueue(t *testing.T) {
	q := newStdinQueue(true)
	if !q.add(make([]byte, stdinWindow)) || q.add([]byte("x")) {
		t.Error("the window is not kept")
	}
	if data, eof := q.next(); len(data) != stdinWindow || eof {
		t.Errorf("got %d bytes, %v", len(data), eof)
	}
	if q.add([]byte("x")) {
		t.Error("what is not delivered yet must count")
	}
	q.delivered()
	if !q.add([]byte("x")) {
		t.Error("no room after the delivery")
	}
	q.end()
	if data, eof := q.next(); string(data) != "x" || eof {
		t.Errorf("got %q, %v", data, eof)
	}
	q.delivered()
	if _, eof := q.next(); !eof {
		t.Error("want the end")
	}
}

func FuzzCheckDownload(f *testing.F) {
	for _, p := range []string{"/mnt/user-data/a", "/mnt/user-data/../x", "/mnt/user-data", "/mnt/user-data2/x", "//mnt/./user-data/x", "/mnt/user-data/a/..", "..", ""} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if checkDownload("/mnt/user-data", p) != nil {
			return
		}
		if !strings.HasPrefix(filepath.Clean(p), "/mnt/user-data/") || strings.Contains("/"+p+"/", "/../") || strings.ContainsRune(p, 0) {
			t.Errorf("%q is accepted", p)
		}
	})
}

func FuzzIsBelow(f *testing.F) {
	f.Add("/mnt/a", "/mnt")
	f.Add("/mnt/../a", "/mnt")
	f.Add("/a", "/")
	f.Fuzz(func(t *testing.T, p, dir string) {
		if !isBelow(p, dir) {
			return
		}
		rel, err := filepath.Rel(filepath.Clean(dir), p)
		if err != nil || rel == "." || strings.HasPrefix(rel, "..") && (len(rel) == 2 || rel[2] == '/') {
			t.Errorf("%q below %q", p, dir)
		}
	})
}

func FuzzCleanText(f *testing.F) {
	f.Add("a\x1b[2J\x00\xff\u0085\n")
	f.Fuzz(func(t *testing.T, s string) {
		out := cleanText(s)
		for _, r := range out {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q keeps %q", out, r)
			}
		}
	})
}
