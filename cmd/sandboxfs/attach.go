//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// attach starts a command with this process's streams, signals and, where
// asked for, terminal, and waits for it. The command's status comes back as
// an [exitStatus].
func attach(ctx context.Context, s provider.Starter, cmd provider.Command) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.TTY != nil && isTerminal(os.Stdin) {
		old, err := term.MakeRaw(int(os.Stdin.Fd()))
		if err != nil {
			return err
		}
		defer term.Restore(int(os.Stdin.Fd()), old)
	}
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH} {
		if !signal.Ignored(s) { // under nohup a hang-up stays ignored
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	process, err := startUnlessInterrupted(ctx, s, cmd, signals, cancel)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	go relay(signals, stop, process, cmd.TTY != nil)
	result, err := process.Wait()
	if err != nil {
		return err
	}
	if change := result.Session; change != nil {
		text := "session " + cmd.Session + ": " + change.Reason
		if len(change.Lost) > 0 {
			text += "; lost: " + strings.Join(change.Lost, ", ")
		}
		fmt.Fprintln(os.Stderr, "sandboxfs:", strings.ReplaceAll(text, "\n", " "))
	}
	if result.TimedOut {
		report(fmt.Errorf("the command was ended after its timeout of %v", cmd.Timeout))
	}
	if result.ExitCode == 0 {
		return nil
	}
	return exitStatus(result.ExitCode)
}

// startUnlessInterrupted starts a command. One of a session may have to wait for
// its turn; until then a signal that would end it takes it out of the queue.
func startUnlessInterrupted(ctx context.Context, s provider.Starter, cmd provider.Command, signals <-chan os.Signal, giveUp context.CancelFunc) (provider.Process, error) {
	if cmd.Session == "" {
		return s.Start(ctx, cmd)
	}
	type started struct {
		p   provider.Process
		err error
	}
	done := make(chan started, 1)
	go func() {
		p, err := s.Start(ctx, cmd)
		done <- started{p, err}
	}()
	for {
		select {
		case got := <-done:
			return got.p, got.err
		case sig := <-signals:
			if number, ok := sig.(unix.Signal); ok && number != unix.SIGWINCH && number != unix.SIGUSR1 && number != unix.SIGUSR2 {
				giveUp()
				if got := <-done; got.err == nil {
					got.p.Wait()
				}
				return nil, exitStatus(provider.ExitSignalBase + int(number))
			}
		}
	}
}

// stdinOf decides what the command reads: this process's standard input where
// that is a pipe or a file or was asked for, else nothing.
func stdinOf(c *cli.Context) io.Reader {
	switch {
	case c.Bool("no-stdin"):
		return nil
	case c.Bool("interactive"):
		return os.Stdin
	case isTerminal(os.Stdin):
		return nil
	}
	if st, err := os.Stdin.Stat(); err != nil || isNull(st) {
		return nil
	}
	return os.Stdin
}

// isNull reports whether a stream is /dev/null, which need not be carried.
func isNull(st os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(st, null)
}

// relay passes signals on to the command. With a terminal of its own the
// command gets what the terminal makes of key presses, and window changes.
func relay(signals <-chan os.Signal, stop <-chan struct{}, p provider.Process, tty bool) {
	for {
		select {
		case <-stop:
			return
		case s := <-signals:
			number, ok := s.(unix.Signal)
			if !ok {
				continue
			}
			if number != unix.SIGWINCH {
				p.Signal(int(number))
			} else if size := termSize(os.Stdin); tty && size != nil {
				p.Resize(size.Row, size.Col)
			}
		}
	}
}

// newTTY describes a terminal like our own.
func newTTY() *provider.TTY {
	t := &provider.TTY{Term: os.Getenv("TERM")}
	if size := termSize(os.Stdin); size != nil {
		t.Rows, t.Cols = size.Row, size.Col
	}
	return t
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// termSize returns a terminal's size, or nil where f is none.
func termSize(f *os.File) *unix.Winsize {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return nil
	}
	return size
}
