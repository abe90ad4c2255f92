package exec

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func start(t testing.TB, e *Executor, c Command) *Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	p, err := e.Start(ctx, c)
	if err != nil {
		t.Fatalf("start %q: %v", c.Argv, err)
	}
	return p
}

// expect reads exactly want from the command's output.
func expect(t testing.TB, p *Process, want string) {
	t.Helper()
	stop := time.AfterFunc(deadline, p.Kill)
	defer stop.Stop()
	got := make([]byte, len(want))
	n, err := io.ReadFull(p.Stdout, got)
	if string(got[:n]) != want {
		t.Fatalf("output: want %q, got %q (%v)", want, got[:n], err)
	}
}

// expectUntil reads the output until it holds want.
func expectUntil(t testing.TB, p *Process, want string) string {
	t.Helper()
	stop := time.AfterFunc(deadline, p.Kill)
	defer stop.Stop()
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), want) {
		n, err := p.Stdout.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("output: want %q, got %q (%v)", want, got.String(), err)
		}
	}
	return got.String()
}

func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(deadline)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited %v for %s", deadline, what)
		}
	}
}

// slots counts the executor's slots.
func slots(e *Executor) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.live)
}

// descriptors lists this process's open files.
func descriptors(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if l, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			out = append(out, e.Name()+"="+l)
		}
	}
	return out
}

func clearCloseOnExec(t testing.TB, f *os.File) {
	t.Helper()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
}
