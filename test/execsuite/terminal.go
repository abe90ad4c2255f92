package execsuite

import (
	"io"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

// Signals by their numbers on Linux (signal(7)).
const (
	sigint  = 2
	sigkill = 9
	sigusr1 = 10
	sigterm = 15
)

func testSignals(e *env) {
	var out testenv.Buffer
	p := e.start(provider.Command{Script: "trap 'echo int' INT; trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; echo ready; while :; do sleep 0.05; done", Stdout: &out})
	e.eventually("it is ready", func() bool { return out.String() == "ready\n" })
	for _, s := range []struct {
		number int
		want   string
	}{{sigint, "int\n"}, {sigusr1, "usr1\n"}, {sigterm, "term\n"}} {
		if err := p.Signal(s.number); err != nil {
			e.Errorf("signal %d: %v", s.number, err)
		}
		e.eventually(s.want, func() bool { return strings.HasSuffix(out.String(), s.want) })
	}
	if res := e.wait(p); res.ExitCode != 5 || res.Signal != 0 {
		e.Errorf("want exit 5, got %+v", res)
	}
	// Its children too: it is the group that gets it.
	out = testenv.Buffer{}
	p = e.start(provider.Command{Script: "echo ready; sleep " + marker(3) + "; echo not reached", Stdout: &out})
	e.eventually("it is ready", func() bool { return out.String() == "ready\n" })
	if err := p.Signal(sigkill); err != nil {
		e.Errorf("kill: %v", err)
	}
	if res := e.wait(p); res.ExitCode != 128+sigkill || res.Signal != sigkill || out.String() != "ready\n" {
		e.Errorf("want 137, got %+v, %q", res, out.String())
	}
	e.wantKind("after the end", p.Signal(sigterm), provider.NotFound, provider.Unavailable)
	for _, bad := range []int{0, -1, 65, 1 << 20} {
		e.wantKind("no such signal", p.Signal(bad), provider.Invalid)
	}
	e.wantKind("resize without a terminal", p.Resize(1, 1), provider.Invalid)
}

func testTerminal(e *env) {
	if e.f.NoTTY {
		e.Skip("this sandbox has no terminals")
	}
	var out testenv.Buffer
	in, feed := io.Pipe()
	defer feed.Close()
	p := e.start(provider.Command{
		Script: "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal $TERM; stty size; echo err >&2; read x; echo got $x; trap 'stty size' WINCH; trap 'exit 4' TERM; echo loop; while :; do sleep 0.05; done",
		TTY:    &provider.TTY{Term: "vt100", Rows: 40, Cols: 132}, Stdin: in, Stdout: &out,
	})
	e.eventually("the size", func() bool { return strings.Contains(out.String(), "terminal vt100\r\n40 132\r\nerr\r\n") })
	if _, err := io.WriteString(feed, "word\n"); err != nil {
		e.Fatal(err)
	}
	e.eventually("the word", func() bool { return strings.Contains(out.String(), "got word\r\nloop\r\n") })
	if err := p.Resize(50, 100); err != nil {
		e.Errorf("resize: %v", err)
	}
	e.eventually("the new size", func() bool { return strings.Contains(out.String(), "50 100\r\n") })
	if err := p.Signal(sigterm); err != nil {
		e.Errorf("signal: %v", err)
	}
	if res := e.wait(p); res.ExitCode != 4 {
		e.Errorf("want exit 4, got %+v, %q", res, out.String())
	}
	// Captured, and by default 24 by 80.
	res := e.exec(provider.Command{Script: "stty size; echo err >&2; tty", TTY: &provider.TTY{}})
	if got := whole(res.Stdout); !strings.HasPrefix(got, "24 80\r\nerr\r\n/dev/") || len(res.Stderr.Head) != 0 {
		e.Errorf("captured: got %q and %q", got, res.Stderr.Head)
	}
}

// testTerminalKeys demands that control characters act as on a terminal.
func testTerminalKeys(e *env) {
	if e.f.NoTTY {
		e.Skip("this sandbox has no terminals")
	}
	var out testenv.Buffer
	in, feed := io.Pipe()
	defer feed.Close()
	p := e.start(provider.Command{Script: "echo ready; cat; echo after $?", TTY: &provider.TTY{}, Stdin: in, Stdout: &out})
	e.eventually("it is ready", func() bool { return strings.Contains(out.String(), "ready\r\n") })
	if _, err := io.WriteString(feed, "\x04"); err != nil { // ^D: the end of the input
		e.Fatal(err)
	}
	if res := e.wait(p); res.ExitCode != 0 || !strings.Contains(out.String(), "after 0\r\n") {
		e.Errorf("^D: got %+v, %q", res, out.String())
	}
	out = testenv.Buffer{}
	p = e.start(provider.Command{Script: "echo ready; sleep " + marker(4), TTY: &provider.TTY{}, Stdin: strings.NewReader("\x03"), Stdout: &out})
	if res := e.wait(p); res.ExitCode != 128+sigint && res.Signal != sigint {
		e.Errorf("^C: got %+v, %q", res, out.String())
	}
}
