package exec

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSandboxFlood(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct {
		name, script string
		tty          *Size
	}{
		{"stdout", "yes xxxxxxxxxxxxxxx | head -c 100000000; echo END-MARK", nil},
		{"one line", "head -c 5000000 /dev/zero | tr '\\0' a; echo; echo END-MARK", nil},
		{"terminal", "yes xxxxxxxxxxxxxxx | head -c 3000000; echo END-MARK", &Size{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := script(tt.script)
			c.TTY = tt.tty
			p := start(t, e, c)
			keep := NewHeadTail(100000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			stop := time.AfterFunc(3*deadline, p.Kill)
			defer stop.Stop()
			n, err := io.CopyBuffer(keep, struct{ io.Reader }{p.Stdout}, make([]byte, 64<<10))
			if err != nil {
				t.Fatal(err)
			}
			p.Stdout.Close()
			if p.Stderr != nil {
				p.Stderr.Close()
			}
			runtime.ReadMemStats(&after)
			if status, _ := p.Wait(); status.ExitCode != 0 {
				t.Errorf("%+v", status)
			}
			if !strings.HasSuffix(strings.TrimSpace(string(keep.Tail())), "END-MARK") {
				t.Errorf("%d bytes end in %.40q", n, keep.Tail()[max(0, len(keep.Tail())-40):])
			}
			if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 4<<20 {
				t.Errorf("allocated %d bytes over %d", grown, n)
			}
		})
	}
}

func TestSandboxFloodOfOneStreamDoesNotStarveTheOther(t *testing.T) {
	e := executor(t)
	o := run(t, e, script("seq 1 300000 >&2; echo out-ok"))
	if o.stdout != "out-ok\n" || !strings.HasSuffix(o.stderr, "\n300000\n") {
		t.Errorf("%q, %d bytes", o.stdout, len(o.stderr))
	}
}

// What was written before the end is read after it, even when reading begins
// after it.
func TestSandboxLateReader(t *testing.T) {
	e := executor(t)
	p := start(t, e, script("head -c 60000 /dev/zero | tr '\\0' b; echo err >&2"))
	if status, err := p.Wait(); err != nil || status.ExitCode != 0 {
		t.Fatal(status, err)
	}
	if o := collect(t, p); o.stdout != strings.Repeat("b", 60000) || o.stderr != "err\n" {
		t.Errorf("%d bytes, %q", len(o.stdout), o.stderr)
	}
}

// A process outside the tree that has got hold of the pipe delays nothing and
// adds nothing.
func TestSandboxForeignHolderOfThePipe(t *testing.T) {
	e := executor(t)
	for _, tty := range []*Size{nil, {}} {
		c := script("echo before; read x < /tmp/fifo; echo last")
		c.TTY = tty
		os.Remove("/tmp/fifo")
		if err := unix.Mkfifo("/tmp/fifo", 0o600); err != nil {
			t.Fatal(err)
		}
		p := start(t, e, c)
		line := "before\n"
		if tty != nil {
			line = "before\r\n"
		}
		expect(t, p, line)
		// The test is pid 1 and the same user, so it can open the command's
		// standard output, as no command could: but one may pass it on.
		holder := stdoutOf(t, e, p)
		defer holder.Close()
		stop := make(chan struct{})
		flood := make(chan struct{})
		go func() {
			defer close(flood)
			for {
				select {
				case <-stop:
					return
				default:
					unix.Write(int(holder.Fd()), []byte("foreign\n"))
				}
			}
		}()
		fifo, err := os.OpenFile("/tmp/fifo", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fifo.WriteString("go\n")
		fifo.Close()
		done := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(io.Discard, p.Stdout)
			done <- n
		}()
		select {
		case <-done:
		case <-time.After(deadline):
			t.Fatal("the end of the output waits for a foreign process")
		}
		close(stop)
		p.Wait()
		p.Stdout.Close()
		<-flood
	}
}

// stdoutOf opens the standard output of a running command's main process.
func stdoutOf(t *testing.T, e *Executor, p *Process) *os.File {
	t.Helper()
	for _, s := range strangers(t, e) {
		pid, _, _ := strings.Cut(s, "(")
		if !strings.Contains(s, "read x") {
			continue
		}
		fd, err := os.Open("/proc/" + pid + "/fd/1")
		if err != nil {
			t.Fatal(err)
		}
		fd.Close()
		w, err := os.OpenFile("/proc/"+pid+"/fd/1", os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	t.Fatal("the command is not there")
	return nil
}

func TestSandboxStdin(t *testing.T) {
	e := executor(t)
	c := script("cat; echo end")
	c.Stdin = StdinPipe
	p := start(t, e, c)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		p.Stdin.Write(data)
		p.Stdin.Close()
	}()
	if o := collect(t, p); o.stdout != string(data)+"end\n" {
		t.Errorf("%d bytes of %d", len(o.stdout), len(data))
	}

	c.Argv[len(c.Argv)-1] = "exit 4"
	p = start(t, e, c)
	if o := collect(t, p); o.ExitCode != 4 {
		t.Errorf("%+v", o)
	}
	if _, err := p.Stdin.Write(make([]byte, 1<<20)); err == nil {
		t.Error("writing to an ended command succeeded")
	}
}

// A reader that is gone is the command's EPIPE, not our hang.
func TestSandboxOutputClosed(t *testing.T) {
	e := executor(t)
	p := start(t, e, script("trap '' PIPE; while echo x; do :; done 2>/dev/null; exit 6"))
	expect(t, p, "x\n")
	p.Stdout.Close()
	p.Stderr.Close()
	stop := time.AfterFunc(deadline, p.Kill)
	defer stop.Stop()
	if status, _ := p.Wait(); status.ExitCode != 6 {
		t.Errorf("%+v", status)
	}
}
