package execsuite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/provider"
)

// start starts a command that must start; ctx ends with the limit.
func (e *env) start(c provider.Command) provider.Process {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, e.f.Limit)
	e.Cleanup(cancel)
	p, err := e.starter.Start(ctx, c)
	if err != nil {
		e.Fatalf("start %q %q: %v", c.Argv, clip(c.Script), err)
	}
	return p
}

func (e *env) wait(p provider.Process) *provider.Result {
	e.Helper()
	res, err := p.Wait()
	if err != nil {
		e.Fatalf("wait: %v", err)
	}
	return res
}

// testLive demands that output comes as it is written, and input goes as it
// comes.
func testLive(e *env) {
	var out, errs testenv.Buffer
	in, feed := io.Pipe()
	p := e.start(provider.Command{Script: "echo ready; while read x; do echo got $x; done; echo eof >&2; exit 9", Stdin: in, Stdout: &out, Stderr: &errs})
	e.eventually("the first line", func() bool { return out.String() == "ready\n" })
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(feed, word+"\n"); err != nil {
			e.Fatal(err)
		}
		e.eventually("the answer to "+word, func() bool { return strings.HasSuffix(out.String(), "got "+word+"\n") })
	}
	feed.Close()
	res := e.wait(p)
	if res.ExitCode != 9 || out.String() != "ready\ngot one\ngot two\n" || errs.String() != "eof\n" {
		e.Errorf("got %+v, %q, %q", res, out.String(), errs.String())
	}
	if len(res.Stdout.Head)+len(res.Stderr.Head) != 0 {
		e.Error("live streams are captured too")
	}
	// One stream live, the other captured.
	var only testenv.Buffer
	res = e.wait(e.start(provider.Command{Script: "echo a; echo b >&2", Stdout: &only}))
	if only.String() != "a\n" || whole(res.Stderr) != "b\n" {
		e.Errorf("one live: got %q and %q", only.String(), whole(res.Stderr))
	}
	var none testenv.Buffer
	if res = e.wait(e.start(provider.Command{Argv: []string{"no-such-program"}, Stderr: &none})); res.ExitCode != 127 || none.String() == "" {
		e.Errorf("not found: got %+v, %q", res, none.String())
	}
}

// testLiveBinary moves much more than any buffer holds, both ways.
func testLiveBinary(e *env) {
	const size = 48 << 20
	want, got := sha256.New(), sha256.New()
	p := e.start(provider.Command{Argv: []string{"cat"}, Stdin: io.TeeReader(io.LimitReader(&noise{}, size), want), Stdout: got, MaxOutput: 0})
	res := e.wait(p)
	if res.ExitCode != 0 || !bytes.Equal(want.Sum(nil), got.Sum(nil)) {
		e.Errorf("what came back differs, or exit %d", res.ExitCode)
	}
}

// noise is a cheap stream in which no block is like another.
type noise struct{ state uint64 }

func (n *noise) Read(p []byte) (int, error) {
	for i := range p {
		n.state = n.state*6364136223846793005 + 1442695040888963407
		p[i] = byte(n.state >> 56)
	}
	return len(p), nil
}

// slowWriter takes its time with the first block.
type slowWriter struct {
	gate chan struct{}
	n    int64
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-w.gate
	w.n += int64(len(p))
	return len(p), nil
}

// testLiveSlowReader demands that a caller who does not read holds up the
// command, and nothing else.
func testLiveSlowReader(e *env) {
	file := e.f.Dir + "/execsuite-slow"
	w := &slowWriter{gate: make(chan struct{})}
	p := e.start(provider.Command{Script: "i=0; while [ $i -lt 200 ]; do head -c 100000 /dev/zero; i=$((i+1)); echo $i > " + file + "; done", Stdout: w})
	progress := func() string { return whole(e.sh("cat " + file + " 2>/dev/null").Stdout) }
	last := ""
	e.eventually("the command stands still", func() bool {
		now := progress()
		still := now == last && now != ""
		last = now
		time.Sleep(200 * time.Millisecond) // a command that is not held up would go on
		return still
	})
	if last == "200\n" {
		e.Error("20 MB went into buffers")
	}
	e.want("another command", e.sh("echo other"), 0, "other\n")
	close(w.gate)
	if res := e.wait(p); res.ExitCode != 0 || w.n != 20_000_000 {
		e.Errorf("want 20000000 bytes, got %d, %+v", w.n, res)
	}
}

func testLiveBound(e *env) {
	var out testenv.Buffer
	res := e.wait(e.start(provider.Command{Script: "echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo end", Stdout: &out, MaxOutput: 1000}))
	s := out.String()
	if res.ExitCode != 0 || len(s) > 1300 || !strings.HasPrefix(s, "begin\n") || !strings.HasSuffix(s, "end\n") {
		e.Errorf("want head, marker and tail, got %d bytes: %q", len(s), clip(s))
	}
}

var errFull = errors.New("the disk of the caller is full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

// testLiveWriterFails ends the command: nobody would see what it says.
func testLiveWriterFails(e *env) {
	file := e.f.Dir + "/execsuite-writer"
	p := e.start(provider.Command{Script: "while :; do echo x; echo x >> " + file + "; sleep 0.05; done", Stdout: failingWriter{}})
	if _, err := p.Wait(); !errors.Is(err, errFull) {
		e.Errorf("want the writer's error, got %v", err)
	}
	if e.alive(file) {
		e.Error("the command runs on")
	}
}
