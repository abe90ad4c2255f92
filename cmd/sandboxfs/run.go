//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// removeTime bounds the deletion of a temporary thread; gc deletes the rest.
const removeTime = 5 * time.Minute

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Category:  categoryRun,
		Usage:     "run a command in a new thread that is deleted afterwards with all of its files",
		ArgsUsage: "[--] COMMAND [ARGUMENT...]",
		Description: "As exec, in a world of its own. The thread goes whatever ends the command, a signal too;\n" +
			"where sandboxfs itself is killed, `sandboxfs gc` deletes it. With --keep it stays, and\n" +
			"its name is printed on standard error.\n\n" +
			"Exit status: as for exec.",
		Flags: append(execFlags(), &cli.BoolFlag{Name: "keep", Usage: "keep the thread, and say its name"}),
		Action: func(c *cli.Context) error {
			argv := c.Args().Slice()
			if len(argv) > 0 && argv[0] == "--" {
				argv = argv[1:]
			}
			if len(argv) == 0 || argv[0] == "" {
				return usageError{"name a command: sandboxfs run [flags] -- COMMAND [ARGUMENT...]"}
			}
			cmd, err := commandFrom(c, argv)
			if err != nil {
				return err
			}
			return runTemporary(c, cmd)
		},
	}
}

// runTemporary runs a command in a temporary thread. From here on no signal
// ends this process by itself, since the thread must go: until the command
// runs it ends the start, and then it is the command's.
func runTemporary(c *cli.Context, cmd provider.Command) error {
	p, err := open(c.Context, c)
	if err != nil {
		return err
	}
	maker, ok := p.(provider.TemporaryMaker)
	if !ok {
		return errors.New("this provider has no temporary threads; use exec and rm")
	}
	ctx, cancel := context.WithCancelCause(c.Context)
	defer cancel(nil)
	var running atomic.Bool
	signals := make(chan os.Signal, 1)
	notifyEnd(signals)
	defer signal.Stop(signals)
	// Writing to a reader that is gone would end this process at once.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, unix.SIGPIPE)
	defer signal.Stop(broken)
	go func() {
		for {
			select {
			case s := <-signals:
				if number, ok := s.(unix.Signal); ok && !running.Load() {
					cancel(interruption{number})
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	thread, err := maker.MakeTemporary(ctx, c.String("user"))
	if err != nil {
		return err
	}
	end := thread.Remove
	if c.Bool("keep") {
		end = func(context.Context) error { return nil }
		if err := thread.Keep(); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "sandboxfs: the thread is", thread.Key())
	}
	err = executeIn(ctx, c, p, thread.Key(), cmd, func() { running.Store(true) })
	var i interruption
	if errors.As(context.Cause(ctx), &i) {
		err = exitStatus(128 + int(i.signal))
	}
	if readerGone(os.Stdout) || readerGone(os.Stderr) {
		select {
		case <-broken: // else nothing was written since
			err = exitStatus(128 + int(unix.SIGPIPE))
		default:
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer stop()
	if gone := end(last); gone != nil {
		report(gone) // the status is the command's
	}
	return err
}

// readerGone reports whether a stream is a pipe or socket that nobody reads any
// more (poll(2), POLLERR). The signal alone does not tell: once it is asked for,
// a connection that the guest has closed raises it too.
func readerGone(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
}
