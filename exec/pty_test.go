package exec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func terminal(text string, rows, cols uint16) Command {
	c := script(text)
	c.TTY = &Size{Rows: rows, Cols: cols}
	c.Env = append([]string{"TERM=xterm-256color"}, c.Env...)
	return c
}

func TestSandboxTerminal(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct{ name, script, want string }{
		{"is a terminal", "test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\r\n"},
		{"from the sandbox's devpts", "tty | cut -c1-9", "/dev/pts/\r\n"},
		{"controlling", "echo direct > /dev/tty", "direct\r\n"},
		{"size", "stty size", "40 100\r\n"},
		{"both streams in one", "echo out; echo err >&2", "out\r\nerr\r\n"},
		{"output at the end is not lost", "head -c 20000 /dev/zero | tr '\\0' a; printf END", strings.Repeat("a", 20000) + "END"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, e, terminal(tt.script, 40, 100))
			if p.Stderr != nil {
				t.Error("a terminal has one stream")
			}
			if o := collect(t, p); o.stdout != tt.want || o.ExitCode != 0 {
				t.Errorf("want %.80q, got %d bytes %.80q, %+v", tt.want, len(o.stdout), o.stdout, o.Status)
			}
		})
	}
	if o := run(t, e, terminal("stty size", 0, 0)); o.stdout != "24 80\r\n" {
		t.Errorf("default size: %q", o.stdout)
	}
}

func TestSandboxTerminalKeys(t *testing.T) {
	e := executor(t)
	for _, tt := range []struct {
		name, script, keys, want string
		status                   Status
	}{
		{"interrupt", "echo go; sleep 100; echo rc=$?", "\x03", "^C", Status{ExitCode: 130, Signal: 2}},
		{"interrupt is caught", "trap 'echo caught; exit 3' INT; echo go; while :; do sleep 0.01; done", "\x03", "caught", Status{ExitCode: 3}},
		{"quit", "ulimit -c 0; echo go; exec cat", "\x1c", "", Status{ExitCode: 131, Signal: 3}},
		{"end of file", "echo go; cat; echo rc=$?", "typed\r\x04", "rc=0", Status{}},
		{"line", "echo go; read x; echo \"<$x>\"", "abc\r", "<abc>", Status{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, e, terminal(tt.script, 24, 80))
			expect(t, p, "go\r\n")
			if strings.Contains(tt.script, "exec cat") { // the shell itself ignores SIGQUIT
				io.WriteString(p.Stdin, "hi\r")
				expectUntil(t, p, "hi\r\nhi\r\n")
			}
			if _, err := io.WriteString(p.Stdin, tt.keys); err != nil {
				t.Fatal(err)
			}
			o := collect(t, p)
			o.Duration, o.LeftRunning = 0, 0
			if !strings.Contains(o.stdout, tt.want) || o.Status != tt.status {
				t.Errorf("want %q %+v, got %q %+v", tt.want, tt.status, o.stdout, o.Status)
			}
		})
	}
}

func TestSandboxTerminalResize(t *testing.T) {
	e := executor(t)
	p := start(t, e, terminal("trap 'stty size' WINCH; echo go; while :; do sleep 0.01; done", 24, 80))
	expect(t, p, "go\r\n")
	if err := p.Resize(Size{Rows: 50, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	expectUntil(t, p, "50 132\r\n")
	p.Kill()
	if o := collect(t, p); o.Signal != 9 {
		t.Errorf("%+v", o.Status)
	}
	plain := start(t, e, script("true"))
	if err := plain.Resize(Size{}); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("resize without a terminal: %v", err)
	}
	collect(t, plain)
}

func TestSandboxTerminalJobControl(t *testing.T) {
	e := executor(t)
	c := terminal("", 24, 80)
	c.Argv = []string{"bash", "--norc", "--noprofile", "-i"}
	c.Env = append(c.Env, "PS1=$ ")
	p := start(t, e, c)
	expectUntil(t, p, "$ ")
	for _, step := range []struct{ keys, want string }{
		{"sh -c 'echo started; exec sleep 100'\r", "\rstarted\r\n"},
		{"\x1a", "Stopped"},
		{"jobs\r", "sleep 100"},
		{"bg %1\r", "&\r\n"},
		{"kill %1; wait %1; echo rc=$?\r", "rc=143"},
		{"nohup setsid sleep 500 >/dev/null 2>&1 &\r", "$ "},
	} {
		io.WriteString(p.Stdin, step.keys)
		expectUntil(t, p, step.want)
	}
	io.WriteString(p.Stdin, "exit 9\r")
	if o := collect(t, p); o.ExitCode != 9 || o.LeftRunning < 1 { // setsid itself may still be there
		t.Errorf("%+v", o.Status)
	}
	noStrangers(t, e)
}

func TestSandboxTerminalHangup(t *testing.T) {
	e := executor(t)
	p := start(t, e, terminal("trap 'exit 7' HUP; echo go; while :; do sleep 0.01; done", 24, 80))
	expect(t, p, "go\r\n")
	p.Stdout.Close()
	stop := time.AfterFunc(deadline, p.Kill)
	defer stop.Stop()
	if status, err := p.Wait(); err != nil || status.ExitCode != 7 {
		t.Errorf("%+v %v", status, err)
	}
}

func TestSandboxTerminalInputCloses(t *testing.T) {
	e := executor(t)
	p := start(t, e, terminal("echo go; cat; echo end", 24, 80))
	expect(t, p, "go\r\n")
	io.WriteString(p.Stdin, "line\r")
	expectUntil(t, p, "line\r\nline\r\n")
	p.Stdin.Close()
	if o := collect(t, p); o.stdout != "end\r\n" {
		t.Errorf("%q", o.stdout)
	}
}

// The end of the input is the end, within a line too.
func TestSandboxTTYEndOfInput(t *testing.T) {
	e := executor(t)
	for _, input := range []string{"", "line\n", "line\nrest", "rest", "typed\r"} {
		c := script("stty -echo; echo go; n=$(cat | wc -c); echo got $n")
		c.TTY = &Size{}
		p := start(t, e, c)
		expectUntil(t, p, "go\r\n")
		if _, err := io.WriteString(p.Stdin, input); err != nil {
			t.Errorf("%q: %v", input, err)
		}
		p.Stdin.Close()
		want := fmt.Sprintf("got %d\r\n", len(input))
		if o := collect(t, p); o.stdout != want {
			t.Errorf("%q: want %q, got %+v", input, want, o)
		}
	}
}
