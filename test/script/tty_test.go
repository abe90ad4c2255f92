package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// ttyDeadline bounds a conversation.
const ttyDeadline = 30 * time.Second

// cmdTTY is "tty N STEPS PROGRAM [ARGUMENT...]": it runs the program on a
// terminal of its own and has the conversation in the file STEPS with it; then
// the exit status must be N. The terminal's output can be looked at with
// stdout. The steps, one a line:
//
//	expect EXPRESSION   wait until what came since the last match matches
//	send TEXT           type a text, written as in Go without the quotes
//	size ROWS COLUMNS   change the window
func cmdTTY(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: tty N STEPS PROGRAM [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	steps := strings.FieldsFunc(ts.ReadFile(args[1]), func(r rune) bool { return r == '\n' })

	c, err := converse(ts, args[2:])
	ts.Check(err)
	defer c.close()
	for _, step := range steps {
		if err := c.do(step); err != nil {
			ts.Fatalf("%s: %v; the terminal has shown:\n%q", step, err, c.all())
		}
	}
	got, err := c.wait()
	_, _ = io.WriteString(ts.Stdout(), c.all())
	ts.Check(err)
	if got != want {
		ts.Fatalf("want exit status %d, got %d; the terminal has shown:\n%q", want, got, c.all())
	}
}

// conversation is a program on a terminal, seen from the keyboard.
type conversation struct {
	cmd     *osexec.Cmd
	master  *os.File
	end     time.Time
	arrived chan struct{} // has something when output came; closed at its end

	mu    sync.Mutex
	shown strings.Builder
	// matched is how much of shown earlier steps have consumed.
	matched int
}

func converse(ts *testscript.TestScript, argv []string) (*conversation, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = slave.Close() }()
	program := argv[0]
	if program == "sandboxfs" {
		program = ts.Getenv("SANDBOXFS_BIN_DIR") + "/" + program
	}
	cmd := osexec.Command(program, argv[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "TERM=xterm"}
	for _, name := range []string{"SANDBOXFS_HOME", "SANDBOXFS_RUNTIME_DIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		_ = master.Close()
		return nil, err
	}
	c := &conversation{cmd: cmd, master: master, end: time.Now().Add(ttyDeadline), arrived: make(chan struct{}, 1)}
	go c.read()
	return c, nil
}

// openTerminal makes a pseudo-terminal of a usual size.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err,
		unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// read collects what the program shows until it closes the terminal.
func (c *conversation) read() {
	defer close(c.arrived)
	buf := make([]byte, 4096)
	for {
		n, err := c.master.Read(buf)
		c.mu.Lock()
		c.shown.Write(buf[:n])
		c.mu.Unlock()
		select {
		case c.arrived <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (c *conversation) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.String()
}

func (c *conversation) do(step string) error {
	verb, rest, _ := strings.Cut(step, " ")
	switch verb {
	case "expect":
		return c.expect(rest)
	case "send":
		text, err := strconv.Unquote(`"` + rest + `"`)
		if err != nil {
			return err
		}
		_, err = c.master.WriteString(text)
		return err
	case "size":
		var size unix.Winsize
		if _, err := fmt.Sscan(rest, &size.Row, &size.Col); err != nil {
			return err
		}
		return unix.IoctlSetWinsize(int(c.master.Fd()), unix.TIOCSWINSZ, &size)
	}
	return errors.New("no such step")
}

func (c *conversation) expect(expression string) error {
	re, err := regexp.Compile(expression)
	if err != nil {
		return err
	}
	timeout := time.After(time.Until(c.end))
	for {
		c.mu.Lock()
		at := re.FindStringIndex(c.shown.String()[c.matched:])
		if at != nil {
			c.matched += at[1]
		}
		c.mu.Unlock()
		if at != nil {
			return nil
		}
		select {
		case _, open := <-c.arrived:
			if !open {
				return errors.New("the program ended without it")
			}
		case <-timeout:
			return errors.New("it did not come in time")
		}
	}
}

// wait returns the exit status.
func (c *conversation) wait() (int, error) {
	ended := make(chan struct{})
	go func() {
		_ = c.cmd.Wait() // its state is in ProcessState
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Until(c.end)):
		return 0, errors.Join(errors.New("the program did not end"), c.cmd.Process.Kill())
	}
	// What the program showed last is read before it is looked at.
	for range c.arrived {
	}
	return c.cmd.ProcessState.ExitCode(), nil
}

func (c *conversation) close() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
	}
	_ = c.master.Close()
}
