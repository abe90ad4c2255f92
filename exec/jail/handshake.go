package jail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// handshake tells the guest what to build and waits until it is built.
func (j *Jail) handshake(s Spec, w *world, files []*os.File) error {
	if err := send(j.control, message{Kind: kindWorld, World: w}, files...); err != nil {
		return err
	}
	for {
		m, got, err := receive(j.control)
		if err != nil {
			return err
		}
		switch m.Kind {
		case kindFuse:
			if !w.MountInside || len(got) < 1 || len(got) > 2 || len(got) == 2 && !w.Second {
				closeAll(got)
				return errors.New("the guest sent an unexpected descriptor")
			}
			w.MountInside = false // once
			if err := s.Serve(got[0]); err != nil {
				closeAll(got[1:])
				return failed("serve the tree", err)
			}
			answer := message{Kind: kindGo}
			if len(got) == 2 {
				if err := s.ServeReadOnly(got[1]); err != nil {
					answer.Second = toFailure(failed("serve the read-only tree", err))
				}
			}
			if err := send(j.control, answer); err != nil {
				return err
			}
		case kindReady:
			closeAll(got)
			j.isolation = m.Isolation
			return nil
		case kindFailed:
			closeAll(got)
			if m.Failure == nil {
				return errors.New("the guest failed and did not say why")
			}
			return m.Failure.err()
		default:
			closeAll(got)
			return fmt.Errorf("the guest sent %q", m.Kind)
		}
	}
}

// explain turns an error of the handshake into what really happened.
func (j *Jail) explain(ctx context.Context, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if ctx.Err() != nil {
		return &Error{Op: "wait for the guest", Err: ctx.Err()}
	}
	var ne net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.As(err, &ne) {
		select {
		case <-j.done:
			return &Error{Op: "wait for the guest", Err: fmt.Errorf("it ended while its world was being built (%v)", j.ended),
				Cure: "its log has the reason"}
		case <-ctx.Done():
		}
	}
	return failed("talk to the guest", err)
}
