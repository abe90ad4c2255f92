//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// interruption is the signal that ended a context.
type interruption struct{ signal unix.Signal }

func (i interruption) Error() string { return fmt.Sprintf("interrupted: %v", i.signal) }

// endSignals ask a program to end. One that is ignored when it starts stays
// ignored.
var endSignals = [...]unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}

// notifyEnd passes the signals that ask this program to end.
func notifyEnd(signals chan<- os.Signal) {
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
}

// interruptible returns a context that ends with a signal.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	notifyEnd(signals)
	go func() {
		select {
		case s := <-signals:
			if number, ok := s.(unix.Signal); ok {
				cancel(interruption{number})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// cleanupTime is how long an interrupted verb may take to leave nothing behind.
const cleanupTime = 2 * time.Second

// waitInterrupted waits for work, and for an interrupted one only so long as it
// takes to clean up: it may hang in a system call. An interruption is the
// exit status that a shell gives it.
func waitInterrupted(ctx context.Context, done <-chan error) error {
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(cleanupTime):
			err = ctx.Err()
		}
	}
	var i interruption
	if err != nil && errors.As(context.Cause(ctx), &i) {
		return exitStatus(128 + int(i.signal))
	}
	return err
}

// interruptReader reads a stream that can block for ever, until the context
// ends. The end function lets it go.
func interruptReader(ctx context.Context, from io.Reader) (io.Reader, func()) {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	stop := context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })
	return r, func() {
		stop()
		r.Close()
	}
}
